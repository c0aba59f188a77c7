//! The program `takeover`.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    takeover::run().await
}
