//! The program `benches`.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    benches::run().await
}
