module firstlight.test/web

go 1.26.0
