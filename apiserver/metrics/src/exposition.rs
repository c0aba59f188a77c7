//! The forms of `/metrics`: the OpenMetrics text format, and the text format of Prometheus for those who do not ask for the former.

/// The media type of the OpenMetrics text format.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The media type of Prometheus' text format.
pub(crate) const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the media type for a client's `Accept` header. As with Prometheus' Go client, OpenMetrics is only for those who name it and do
/// not prefer plain text.
pub(crate) fn media_type(accept: Option<&str>) -> &'static str {
    let wants = |name: &str| {
        let ranges = accept.unwrap_or_default().split(',').filter_map(range);
        ranges.filter(|(media, _)| media == name).map(|(_, quality)| quality).max().unwrap_or_default()
    };
    let open = wants("application/openmetrics-text");
    if open > 0 && open >= wants("text/plain") { OPEN_METRICS } else { PLAIN }
}

/// Returns the media type of one range of an `Accept` header in lower case, and its quality in thousandths. Of OpenMetrics, only versions
/// 1 and 0.0.1 are those of the text that is sent.
fn range(text: &str) -> Option<(String, u32)> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next()?.to_ascii_lowercase();
    let mut quality = 1000;
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        match key.trim() {
            "q" => quality = (value.trim().parse::<f64>().ok()?.clamp(0.0, 1.0) * 1000.0) as u32,
            "version"
                if media.ends_with("openmetrics-text") && !["1.0.0", "0.0.1"].contains(&value.trim()) =>
            {
                return None;
            }
            _ => {}
        }
    }
    Some((media, quality))
}

/// Converts OpenMetrics text to Prometheus' text format: a counter's lines have its whole name, and there are no units and no end mark.
pub(crate) fn plain(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = "";
    for line in open_metrics.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described;
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' '))
        {
            let (end, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            if let Some(said) = help.strip_prefix(name) {
                text.push_str(&format!("# HELP {name}{end}{said}\n"));
            }
            text.push_str(&format!("# TYPE {name}{end} {kind}\n"));
        } else if !line.starts_with('#') {
            let sample = line.split_once(" # {").map_or(line, |(sample, _)| sample);
            text.push_str(sample);
            text.push('\n');
        }
    }
    text
}
