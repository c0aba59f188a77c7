//! The program `attack`.

fn main() -> anyhow::Result<()> {
    attack::run()
}
