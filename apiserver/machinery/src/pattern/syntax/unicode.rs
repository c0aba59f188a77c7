//! The classes of Unicode that Go knows by name, in the version of Unicode that Go has (15.0).

use std::sync::{Arc, LazyLock};

use regex_syntax::Parser;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Literal};

use super::sets::{negated, numbers, range};
use crate::cache::Cache;

/// General categories, with Go's names.
const CATEGORIES: [&str; 38] = [
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd",
    "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp",
    "Zs", "Lc",
];

/// Other names of categories, as [`canonical`] writes them.
const ALIASES: [(&str, &str); 42] = [
    ("Casedletter", "Lc"),
    ("Closepunctuation", "Pe"),
    ("Cntrl", "Cc"),
    ("Combiningmark", "M"),
    ("Connectorpunctuation", "Pc"),
    ("Control", "Cc"),
    ("Currencysymbol", "Sc"),
    ("Dashpunctuation", "Pd"),
    ("Decimalnumber", "Nd"),
    ("Digit", "Nd"),
    ("Enclosingmark", "Me"),
    ("Finalpunctuation", "Pf"),
    ("Format", "Cf"),
    ("Initialpunctuation", "Pi"),
    ("Letter", "L"),
    ("Letternumber", "Nl"),
    ("Lineseparator", "Zl"),
    ("Lowercaseletter", "Ll"),
    ("Mark", "M"),
    ("Mathsymbol", "Sm"),
    ("Modifierletter", "Lm"),
    ("Modifiersymbol", "Sk"),
    ("Nonspacingmark", "Mn"),
    ("Number", "N"),
    ("Openpunctuation", "Ps"),
    ("Other", "C"),
    ("Otherletter", "Lo"),
    ("Othernumber", "No"),
    ("Otherpunctuation", "Po"),
    ("Othersymbol", "So"),
    ("Paragraphseparator", "Zp"),
    ("Privateuse", "Co"),
    ("Punct", "P"),
    ("Punctuation", "P"),
    ("Separator", "Z"),
    ("Spaceseparator", "Zs"),
    ("Spacingmark", "Mc"),
    ("Surrogate", "Cs"),
    ("Symbol", "S"),
    ("Titlecaseletter", "Lt"),
    ("Unassigned", "Cn"),
    ("Uppercaseletter", "Lu"),
];

/// Scripts. Go refuses those whose names have several words, because it looks their names up without the underscores.
const SCRIPTS: &str = "Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi \
    Braille Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret \
    Devanagari Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi \
    Han Hangul Hanunoo Hatran Hebrew Hiragana Inherited Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer \
    Khojki Khudawadi Lao Latin Lepcha Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen \
    Medefaidrin Miao Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage \
    Osmanya Palmyrene Phoenician Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham Sinhala Sogdian Soyombo \
    Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto \
    Ugaritic Vai Vithkuqi Wancho Yezidi Yi";

/// The one character whose category changed after Go's version of Unicode, from `Mn` to `Mc`.
const NONSPACING: char = '\u{1171e}';

/// The sets that were looked up.
static KNOWN: LazyLock<Cache<&'static str, Arc<ClassUnicode>>> = LazyLock::new(|| Cache::new(64));

static ASSIGNED: LazyLock<ClassUnicode> = LazyLock::new(|| property("Age=15.0"));

/// The characters that Go's version of Unicode knows.
pub(super) fn assigned() -> &'static ClassUnicode {
    &ASSIGNED
}

/// Returns the characters of a name in `\p{name}`, and whether the other cases of these belong to it where cases do not
/// count. Go forgets the one character (U+0345) of which that is true for letters with cases.
pub(super) fn class(name: &str) -> Option<(Arc<ClassUnicode>, bool)> {
    let name = canonical(name);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name.as_str(), |(_, category)| *category);
    let category = CATEGORIES.iter().find(|category| **category == name);
    let other =
        || ["Any", "Ascii", "Assigned"].into_iter().chain(SCRIPTS.split(' ')).find(|other| *other == name);
    let key = category.copied().or_else(other)?;
    if let Some(found) = KNOWN.get(key) {
        return Some((found, key != "Lc"));
    }
    let set = Arc::new(if category.is_some() { general(key) } else { named(key) });
    KNOWN.keep(key, set.clone());
    Some((set, key != "Lc"))
}

fn general(name: &str) -> ClassUnicode {
    if name == "Cs" {
        return ClassUnicode::empty();
    }
    let mut set = property(&format!("General_Category={name}"));
    set.intersect(assigned());
    let moved = ClassUnicode::new([range(NONSPACING, NONSPACING)]);
    match name {
        "Mc" => set.difference(&moved),
        "Mn" => set.union(&moved),
        _ => {}
    }
    if matches!(name, "C" | "Cn") {
        set.union(&negated(assigned()));
    }
    set
}

fn named(name: &str) -> ClassUnicode {
    match name {
        "Any" => numbers(0, 0x10_ffff),
        "Ascii" => numbers(0, 0x7f),
        "Assigned" => negated(&general("Cn")),
        script => {
            let mut set = property(&format!("Script={script}"));
            set.intersect(assigned());
            set
        }
    }
}

/// Returns the characters with a property, by its name in regex-syntax.
pub(super) fn property(query: &str) -> ClassUnicode {
    match Parser::new().parse(&format!("\\p{{{query}}}")).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(set))) => set,
        // A class of one character.
        Ok(HirKind::Literal(Literal(bytes))) => {
            let text = String::from_utf8_lossy(&bytes);
            ClassUnicode::new(text.chars().map(|character| range(character, character)))
        }
        _ => ClassUnicode::empty(),
    }
}

/// Returns a name as Go looks it up: without underscores, hyphens and spaces, and the first letter alone is a capital.
fn canonical(name: &str) -> String {
    let mut characters = name.chars().filter(|character| !matches!(character, '_' | '-' | ' '));
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters.map(|character| character.to_ascii_lowercase())).collect()
}
