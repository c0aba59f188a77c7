module firstlight.test/patterns

go 1.26.0
