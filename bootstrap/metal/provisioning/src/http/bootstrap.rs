//! `POST /metadata/TOKEN/bootstrap`: what installed systems report, as HTTP (`docs/bootstrap-reports.md`).

use http::{Request, Response, StatusCode};

use super::agents::{nothing, read};
use super::file::{self, Body};
use super::peer::Peer;
use crate::agents::Refusal;
use crate::bootstrap::{Answer, BootstrapReports, Report};
use crate::limits;

/// Answers a report with the token. The token is checked before the body is read.
pub async fn answer(
    reports: &BootstrapReports,
    token: &str,
    request: Request<Body>,
    peer: &Peer,
) -> Response<Body> {
    let client = peer.address.ip();
    if reports.host(token, client).is_none() {
        return file::not_found();
    }
    let report: Report = match read(request, (limits::BOOTSTRAP_REPORT, "netboot_bootstrap_report")).await {
        Ok(report) => report,
        Err(refusal) => {
            if let Refusal::Limit(limit, _) = refusal {
                reports.metrics.limit(limit);
            }
            return file::text(StatusCode::BAD_REQUEST, format!("{refusal}\n"));
        }
    };
    // The host may have changed while the body was read.
    let Some(host) = reports.host(token, client) else { return file::not_found() };
    match reports.record(&host, &report).await {
        Answer::Recorded => nothing(),
        Answer::Unknown => file::not_found(),
        Answer::TooMany => file::text(StatusCode::TOO_MANY_REQUESTS, "report less often\n"),
        Answer::Failed => file::text(StatusCode::SERVICE_UNAVAILABLE, "try again\n"),
    }
}
