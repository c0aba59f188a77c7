//! The text form of the completion indexes of a Job, for example `1,3-5,7`.

/// Returns the first and the last index of each interval of `text`, for a Job with `count` completions.
///
/// # Errors
/// The message of kube-apiserver, without the field name.
pub(crate) fn parse(text: &str, count: i64) -> Result<Vec<(i64, i64)>, String> {
    let mut found: Vec<(i64, i64)> = Vec::new();
    if text.is_empty() {
        return Ok(found);
    }
    for interval in text.split(',') {
        let (first, last) = match interval.split('-').collect::<Vec<_>>()[..] {
            [first, last] => {
                let (first, last) = (index(first, count)?, index(last, count)?);
                if first >= last {
                    return Err(format!("non-increasing order, previous: {first}, current: {last}"));
                }
                (first, last)
            }
            [one] => index(one, count).map(|one| (one, one))?,
            _ => {
                return Err(format!(
                    "the fragment {interval:?} violates the requirement that an index interval can have at most \
                     two parts separated by '-'"
                ));
            }
        };
        if let Some((_, before)) = found.last().filter(|(_, before)| *before >= first) {
            return Err(format!("non-increasing order, previous: {before}, current: {first}"));
        }
        found.push((first, last));
    }
    Ok(found)
}

fn index(text: &str, count: i64) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let good = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<i64>().ok().filter(|_| good);
    let number = number.ok_or_else(|| format!("cannot convert string to integer for index: {text:?}"))?;
    if number >= count { Err(format!("too large index: {text:?}")) } else { Ok(number) }
}

/// Returns the number of indexes in the intervals.
pub(crate) fn count(intervals: &[(i64, i64)]) -> i64 {
    intervals.iter().map(|(first, last)| last - first + 1).sum()
}

/// Returns the first index that is in both lists of intervals, which must be sorted.
pub(crate) fn first_common(one: &[(i64, i64)], other: &[(i64, i64)]) -> Option<i64> {
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    while let (Some((first, last)), Some((from, to))) = (left.peek(), right.peek()) {
        let (start, end) = ((*first).max(*from), (*last).min(*to));
        if start <= end {
            return Some(start);
        }
        if last < to {
            left.next()
        } else {
            right.next()
        };
    }
    None
}
