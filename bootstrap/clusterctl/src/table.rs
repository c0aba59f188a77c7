//! Tables as Go's tabwriter writes them for clusterctl.

/// Width of the narrowest column, including its gap.
const COLUMN_MIN: usize = 10;
/// Spaces after the widest cell.
const GAP: usize = 3;

/// Writes rows of cells. The last column is not filled up.
pub(crate) fn of<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let widest = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        if column + 1 == N { 0 } else { (widest + GAP).max(COLUMN_MIN) }
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        row.iter().zip(&widths).for_each(|(cell, width)| text.push_str(&format!("{cell:width$}")));
        text.push('\n');
    }
    text
}
