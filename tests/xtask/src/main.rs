//! The program `xtask`.

fn main() -> anyhow::Result<()> {
    xtask::run()
}
