//! Layouts of times: Go's reference time, Monday January 2 15:04:05 MST 2006, as it would look.

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};

use super::{MONTHS, Time, WEEKDAYS};

/// Seconds from 1970 back to the beginning of the year 1.
pub(crate) const YEAR_ONE: i64 = -62_135_596_800;

/// A part of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    LongMonth,
    Month,
    NumberMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    SpaceDay,
    ZeroDay,
    SpaceYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperHalf,
    LowerHalf,
    Zone,
    /// An offset: `Z` for UTC or not, colons or not, 1 to 3 numbers.
    Offset {
        z: bool,
        colons: bool,
        numbers: usize,
    },
    /// A fraction of a second: the digits, and whether zeros at the end are written.
    Fraction {
        digits: usize,
        zeros: bool,
    },
}

/// The texts of the parts; a longer one comes before its beginnings.
const PARTS: &[(&str, Part)] = &[
    ("January", Part::LongMonth),
    ("Jan", Part::Month),
    ("Monday", Part::LongWeekday),
    ("Mon", Part::Weekday),
    ("MST", Part::Zone),
    ("002", Part::ZeroYearDay),
    ("01", Part::ZeroMonth),
    ("02", Part::ZeroDay),
    ("03", Part::ZeroHour12),
    ("04", Part::ZeroMinute),
    ("05", Part::ZeroSecond),
    ("06", Part::Year),
    ("15", Part::Hour),
    ("1", Part::NumberMonth),
    ("2006", Part::LongYear),
    ("2", Part::Day),
    ("__2", Part::SpaceYearDay),
    ("_2", Part::SpaceDay),
    ("3", Part::Hour12),
    ("4", Part::Minute),
    ("5", Part::Second),
    ("PM", Part::UpperHalf),
    ("pm", Part::LowerHalf),
    ("-07:00:00", Part::Offset { z: false, colons: true, numbers: 3 }),
    ("-070000", Part::Offset { z: false, colons: false, numbers: 3 }),
    ("-07:00", Part::Offset { z: false, colons: true, numbers: 2 }),
    ("-0700", Part::Offset { z: false, colons: false, numbers: 2 }),
    ("-07", Part::Offset { z: false, colons: false, numbers: 1 }),
    ("Z07:00:00", Part::Offset { z: true, colons: true, numbers: 3 }),
    ("Z070000", Part::Offset { z: true, colons: false, numbers: 3 }),
    ("Z07:00", Part::Offset { z: true, colons: true, numbers: 2 }),
    ("Z0700", Part::Offset { z: true, colons: false, numbers: 2 }),
    ("Z07", Part::Offset { z: true, colons: false, numbers: 1 }),
];

/// The text before the next part, the part, and the text after it.
fn next_part(layout: &str) -> (&str, Option<Part>, &str) {
    for (start, c) in layout.char_indices() {
        let rest = &layout[start..];
        if let Some(after) = rest.strip_prefix("_2006") {
            // The underscore is text.
            return (&layout[..=start], Some(Part::LongYear), after);
        }
        let known = PARTS.iter().find(|(text, _)| rest.starts_with(text));
        if let Some((text, part)) = known {
            let after = &rest[text.len()..];
            let longer_word = *text == "Jan" && after.starts_with(|c: char| c.is_ascii_lowercase())
                || *text == "Mon" && after.starts_with(|c: char| c.is_ascii_lowercase());
            if !longer_word {
                return (&layout[..start], Some(*part), after);
            }
        }
        if (c == '.' || c == ',')
            && let Some((part, after)) = fraction(&rest[1..])
        {
            return (&layout[..start], Some(part), after);
        }
    }
    (layout, None, "")
}

fn fraction(digits: &str) -> Option<(Part, &str)> {
    let first = digits.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let after = digits.trim_start_matches(first);
    let count = digits.len() - after.len();
    let ends = !after.starts_with(|c: char| c.is_ascii_digit());
    ends.then_some((Part::Fraction { digits: count, zeros: first == '0' }, after))
}

/// The time in a layout.
pub(crate) fn format(time: &Time, layout: &str) -> String {
    let local = time.local();
    let mut output = String::new();
    let mut rest = layout;
    loop {
        let (before, part, after) = next_part(rest);
        output.push_str(before);
        let Some(part) = part else { return output };
        output.push_str(&written(time, &local, part, &rest[before.len()..]));
        rest = after;
    }
}

fn written(time: &Time, local: &NaiveDateTime, part: Part, text: &str) -> String {
    let hour12 = (local.hour() + 11) % 12 + 1;
    let month = MONTHS.get(local.month0() as usize).copied().unwrap_or_default();
    let day = WEEKDAYS.get(local.weekday().num_days_from_sunday() as usize).copied().unwrap_or_default();
    match part {
        Part::LongMonth => month.to_owned(),
        Part::Month => month[..3].to_owned(),
        Part::NumberMonth => local.month().to_string(),
        Part::ZeroMonth => format!("{:02}", local.month()),
        Part::LongWeekday => day.to_owned(),
        Part::Weekday => day[..3].to_owned(),
        Part::Day => local.day().to_string(),
        Part::SpaceDay => format!("{:2}", local.day()),
        Part::ZeroDay => format!("{:02}", local.day()),
        Part::SpaceYearDay => format!("{:3}", local.ordinal()),
        Part::ZeroYearDay => format!("{:03}", local.ordinal()),
        Part::Hour => format!("{:02}", local.hour()),
        Part::Hour12 => hour12.to_string(),
        Part::ZeroHour12 => format!("{hour12:02}"),
        Part::Minute => local.minute().to_string(),
        Part::ZeroMinute => format!("{:02}", local.minute()),
        Part::Second => local.second().to_string(),
        Part::ZeroSecond => format!("{:02}", local.second()),
        Part::LongYear => format!("{:04}", local.year()),
        Part::Year => format!("{:02}", local.year().rem_euclid(100)),
        Part::UpperHalf => if local.hour() >= 12 { "PM" } else { "AM" }.to_owned(),
        Part::LowerHalf => if local.hour() >= 12 { "pm" } else { "am" }.to_owned(),
        Part::Zone if time.zone.is_empty() => offset(time.offset, false, 2),
        Part::Zone => time.zone.clone(),
        Part::Offset { z: true, .. } if time.offset == 0 => "Z".to_owned(),
        Part::Offset { colons, numbers, .. } => offset(time.offset, colons, numbers),
        Part::Fraction { digits, zeros } => {
            let nanoseconds = format!("{:09}", local.nanosecond());
            let mut shown: String = nanoseconds.chars().chain(std::iter::repeat('0')).take(digits).collect();
            if !zeros {
                shown.truncate(shown.trim_end_matches('0').len());
            }
            if shown.is_empty() { shown } else { format!("{}{shown}", &text[..1]) }
        }
    }
}

fn offset(seconds: i32, colons: bool, numbers: usize) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let all = [seconds.abs() / 3600, seconds.abs() / 60 % 60, seconds.abs() % 60];
    let shown: Vec<String> = all[..numbers].iter().map(|number| format!("{number:02}")).collect();
    format!("{sign}{}", shown.join(if colons { ":" } else { "" }))
}

/// What is read of a time.
#[derive(Debug, Default)]
struct Read {
    year: i32,
    month: Option<u32>,
    day: Option<u32>,
    year_day: Option<u32>,
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    afternoon: Option<bool>,
    offset: Option<i32>,
    utc: bool,
    zone: String,
}

/// Reads a time in a layout. A time without a zone is in UTC.
pub(crate) fn parse(layout: &str, text: &str) -> Option<Time> {
    let mut read = Read::default();
    let (mut layout, mut text) = (layout, text);
    loop {
        let (before, part, after) = next_part(layout);
        text = without_prefix(text, before)?;
        let Some(part) = part else {
            return text.is_empty().then(|| read.time()).flatten();
        };
        layout = after;
        let has_fraction =
            matches!(next_part(layout), (before, Some(Part::Fraction { .. }), _) if before.is_empty());
        text = read.part(part, text, has_fraction)?;
    }
}

/// Takes the text of a layout away. A space of the layout stands for any number of spaces.
fn without_prefix<'t>(mut text: &'t str, prefix: &str) -> Option<&'t str> {
    let mut prefix = prefix;
    while let Some(c) = prefix.chars().next() {
        if c == ' ' {
            if !text.is_empty() && !text.starts_with(' ') {
                return None;
            }
            prefix = prefix.trim_start_matches(' ');
            text = text.trim_start_matches(' ');
            continue;
        }
        text = text.strip_prefix(c)?;
        prefix = &prefix[c.len_utf8()..];
    }
    Some(text)
}

/// A number of one or two digits, or of exactly two.
fn number(text: &str, exact: bool) -> Option<(u32, &str)> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if digits == 0 || (exact && digits < 2) {
        return None;
    }
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

fn name<'t>(names: &[&str], text: &'t str, short: bool) -> Option<(u32, &'t str)> {
    names.iter().enumerate().find_map(|(position, name)| {
        let name = if short { &name[..3] } else { name };
        let head = text.get(..name.len())?;
        head.eq_ignore_ascii_case(name).then(|| (position as u32, &text[name.len()..]))
    })
}

impl Read {
    fn part<'t>(&mut self, part: Part, text: &'t str, has_fraction: bool) -> Option<&'t str> {
        let (target, exact): (&mut u32, bool) = match part {
            Part::Hour => (&mut self.hour, false),
            Part::Hour12 => (&mut self.hour, false),
            Part::ZeroHour12 => (&mut self.hour, true),
            Part::Minute => (&mut self.minute, false),
            Part::ZeroMinute => (&mut self.minute, true),
            Part::NumberMonth => (self.month.insert(0), false),
            Part::ZeroMonth => (self.month.insert(0), true),
            Part::Day | Part::SpaceDay => (self.day.insert(0), false),
            Part::ZeroDay => (self.day.insert(0), true),
            Part::Second | Part::ZeroSecond => {
                let (second, rest) = number(text, part == Part::ZeroSecond)?;
                self.second = second;
                // A fraction may follow, also where the layout has none.
                return if has_fraction { Some(rest) } else { Some(self.fraction(rest).unwrap_or(rest)) };
            }
            _ => return self.other(part, text),
        };
        let text = if part == Part::SpaceDay { text.strip_prefix(' ').unwrap_or(text) } else { text };
        let (value, rest) = number(text, exact)?;
        *target = value;
        let twelve = matches!(part, Part::Hour12 | Part::ZeroHour12);
        (!twelve || value <= 12).then_some(rest)
    }

    fn other<'t>(&mut self, part: Part, text: &'t str) -> Option<&'t str> {
        let head = |length: usize| text.get(..length).zip(text.get(length..));
        match part {
            Part::LongYear | Part::Year => {
                let (digits, rest) = head(if part == Part::LongYear { 4 } else { 2 })?;
                let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
                let year: i32 = digits.parse().ok().filter(|_| plain)?;
                let century = if part == Part::LongYear {
                    0
                } else if year >= 69 {
                    1900
                } else {
                    2000
                };
                self.year = year + century;
                Some(rest)
            }
            Part::LongMonth | Part::Month => {
                let (month, rest) = name(MONTHS, text, part == Part::Month)?;
                self.month = Some(month + 1);
                Some(rest)
            }
            Part::LongWeekday => name(WEEKDAYS, text, false).map(|(_, rest)| rest),
            Part::Weekday => name(WEEKDAYS, text, true).map(|(_, rest)| rest),
            Part::SpaceYearDay | Part::ZeroYearDay => {
                let (digits, rest) = head(3)?;
                self.year_day = digits.trim_start_matches(' ').parse().ok();
                self.year_day.map(|_| rest)
            }
            Part::UpperHalf | Part::LowerHalf => {
                let (half, rest) = head(2)?;
                let (am, pm) = if part == Part::UpperHalf { ("AM", "PM") } else { ("am", "pm") };
                self.afternoon = Some(if half == pm {
                    true
                } else if half == am {
                    false
                } else {
                    return None;
                });
                Some(rest)
            }
            Part::Zone => self.zone(text),
            Part::Offset { z, colons, numbers } => self.read_offset(text, z, colons, numbers),
            Part::Fraction { digits, zeros: true } => {
                let rest = self.fraction(text)?;
                (text.len() - rest.len() == digits + 1).then_some(rest)
            }
            _ => Some(self.fraction(text).unwrap_or(text)),
        }
    }

    fn fraction<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let digits = text.strip_prefix(['.', ','])?;
        let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &digits[..digits.len() - rest.len()];
        if digits.is_empty() {
            return None;
        }
        let nanoseconds: String = digits.chars().chain(std::iter::repeat('0')).take(9).collect();
        self.nanosecond = nanoseconds.parse().ok()?;
        Some(rest)
    }

    fn zone<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if let Some(rest) = text.strip_prefix("UTC") {
            self.utc = true;
            return Some(rest);
        }
        let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
        let known = letters == 3 || (letters == 4 && (text[..4].ends_with('T') || &text[..4] == "WITA"));
        let length = if letters == 5 && text[..5].ends_with('T') { 5 } else { letters };
        if !known && length != 5 {
            return None;
        }
        self.zone = text[..length].to_owned();
        Some(&text[length..])
    }

    fn read_offset<'t>(&mut self, text: &'t str, z: bool, colons: bool, numbers: usize) -> Option<&'t str> {
        if z && let Some(rest) = text.strip_prefix('Z') {
            self.utc = true;
            return Some(rest);
        }
        let sign = match text.bytes().next()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (mut rest, mut seconds) = (&text[1..], 0);
        for position in 0..numbers {
            if position > 0 && colons {
                rest = rest.strip_prefix(':')?;
            }
            let (value, after) = number(rest, true)?;
            if value > if position == 0 { 24 } else { 60 } {
                return None;
            }
            seconds += value as i32 * [3600, 60, 1][position];
            rest = after;
        }
        self.offset = Some(sign * seconds);
        Some(rest)
    }

    fn time(&self) -> Option<Time> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let date = match self.year_day {
            Some(day) => {
                let date = NaiveDate::from_yo_opt(self.year, day)?;
                let agrees = self.month.is_none_or(|month| month == date.month())
                    && self.day.is_none_or(|day| day == date.day());
                agrees.then_some(date)?
            }
            None => NaiveDate::from_ymd_opt(self.year, self.month.unwrap_or(1), self.day.unwrap_or(1))?,
        };
        let local = date.and_hms_nano_opt(hour, self.minute, self.second, self.nanosecond)?;
        let offset = if self.utc { 0 } else { self.offset.unwrap_or_default() };
        let named = !self.utc && !self.zone.is_empty();
        let zone = if named {
            &self.zone
        } else if offset == 0 {
            "UTC"
        } else {
            ""
        };
        let utc = local.checked_sub_signed(chrono::TimeDelta::seconds(i64::from(offset)))?;
        Some(Time { utc, offset, zone: zone.to_owned() })
    }
}
