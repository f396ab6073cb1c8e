//! The data set: strict reading of the csv text, every value as an exact integer.

/// Measurements of one wine.
pub const FEATURE_COUNT: usize = 13;

/// Cultivators; classes are numbered from 0.
pub const CLASS_COUNT: u8 = 3;

/// Decimal places that a value may have; values are held in units of 10^-6.
pub const DECIMALS_MAX: usize = 6;

/// Digits that a value may have before the point: with `ROWS_MAX` it keeps the sums of scaling within a `u128`.
pub const WHOLE_DIGITS_MAX: usize = 5;

/// Most rows below the header.
pub const ROWS_MAX: usize = 1_000;

/// The only header that is read: what each column means is part of the format.
pub const HEADER: &str = "alcohol,malic_acid,ash,alcalinity_of_ash,magnesium,total_phenols,flavanoids,\
nonflavanoid_phenols,proanthocyanins,color_intensity,hue,od280_od315,proline,class";

/// The csv that ships with the demo; its source and licence are in `DATA.md`.
pub const WINE_CSV: &str = include_str!("../wine.csv");

/// The measurements of one wine in units of 10^-6, in the order of the header.
pub type Features = [u64; FEATURE_COUNT];

/// One wine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Position in the csv, from 0: the last word on every tie.
    pub index: usize,
    /// What was measured.
    pub features: Features,
    /// The cultivator, below `CLASS_COUNT`.
    pub class: u8,
}

/// Why a csv was refused; lines count from 1 with the header as line 1, columns from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The first line is not `HEADER`.
    #[error("line 1: the header is not the wine header")]
    Header,
    /// There is a header and nothing below it.
    #[error("no rows below the header")]
    Empty,
    /// There are more rows than `ROWS_MAX`.
    #[error("{found} rows, at most {ROWS_MAX} are read")]
    TooMany {
        /// Rows below the header.
        found: usize,
    },
    /// A line has too many or too few fields.
    #[error("line {line}: {found} fields, expected {}", FEATURE_COUNT + 1)]
    FieldCount {
        /// Where.
        line: usize,
        /// Fields on that line.
        found: usize,
    },
    /// A measurement is not a plain non-negative decimal such as `14.23`.
    #[error("line {line}, column {column}: expected a decimal such as 14.23, found {text:?}")]
    Number {
        /// Where.
        line: usize,
        /// Which field.
        column: usize,
        /// The field as it stands.
        text: String,
    },
    /// The last field is not a class.
    #[error("line {line}: expected a class below {CLASS_COUNT}, found {text:?}")]
    Class {
        /// Where.
        line: usize,
        /// The field as it stands.
        text: String,
    },
}

/// Reads a whole csv: the header, then one wine a line.
///
/// # Errors
/// `DataError` names the first line that is not as expected; nothing is skipped or repaired.
pub fn parse(csv: &str) -> Result<Vec<Row>, DataError> {
    let mut lines = csv.lines();
    if lines.next() != Some(HEADER) {
        return Err(DataError::Header);
    }
    let rows: Vec<Row> =
        lines.enumerate().map(|(index, text)| parse_row(index, text)).collect::<Result<_, _>>()?;
    match rows.len() {
        0 => Err(DataError::Empty),
        1..=ROWS_MAX => Ok(rows),
        found => Err(DataError::TooMany { found }),
    }
}

/// These rows of the built-in csv, below its header, to the byte.
pub fn csv(rows: &[Row]) -> String {
    let lines = rows.iter().filter_map(|row| WINE_CSV.lines().nth(row.index + 1));
    std::iter::once(HEADER).chain(lines).flat_map(|line| [line, "\n"]).collect()
}

fn parse_row(index: usize, text: &str) -> Result<Row, DataError> {
    let line = index + 2;
    let found = text.split(',').count();
    if found != FEATURE_COUNT + 1 {
        return Err(DataError::FieldCount { line, found });
    }
    let mut features = [0; FEATURE_COUNT];
    let mut fields = text.split(',');
    for (column, (slot, field)) in (1..).zip(features.iter_mut().zip(&mut fields)) {
        *slot =
            parse_micros(field).ok_or_else(|| DataError::Number { line, column, text: field.to_owned() })?;
    }
    let field = fields.next().unwrap_or_default();
    let class = parse_class(field).ok_or_else(|| DataError::Class { line, text: field.to_owned() })?;
    Ok(Row { index, features, class })
}

fn parse_class(field: &str) -> Option<u8> {
    (0..CLASS_COUNT).find(|class| class.to_string() == field)
}

/// Reads `14.23` as 14,230,000: no sign, no exponent, digits on both sides of a point.
fn parse_micros(field: &str) -> Option<u64> {
    let (whole, fraction) = match field.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (field, ""),
    };
    if whole.is_empty() || whole.len() > WHOLE_DIGITS_MAX || fraction.len() > DECIMALS_MAX {
        return None;
    }
    let digits = format!("{whole}{fraction:0<DECIMALS_MAX$}");
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(row: &str) -> String {
        format!("{HEADER}\n1,2,3,4,5,6,7,8,9,10,11,12,13,0\n{row}\n")
    }

    #[test]
    fn the_shipped_csv_holds_178_wines_with_the_published_class_counts() {
        let rows = parse(WINE_CSV).unwrap();
        assert_eq!(rows.len(), 178);
        let count = |class| rows.iter().filter(|row| row.class == class).count();
        assert_eq!([count(0), count(1), count(2)], [59, 71, 48]);
    }

    #[test]
    fn the_shipped_csv_has_the_published_range_of_each_feature() {
        let rows = parse(WINE_CSV).unwrap();
        let range = |feature: usize| {
            let values = rows.iter().map(|row| row.features[feature]);
            (values.clone().min().unwrap(), values.max().unwrap())
        };
        assert_eq!(range(0), (11_030_000, 14_830_000));
        assert_eq!(range(7), (130_000, 660_000));
        assert_eq!(range(12), (278_000_000, 1_680_000_000));
        assert_eq!(rows[171].features[9], 9_899_999, "the one value with six decimals is exact");
    }

    #[test]
    fn a_csv_without_the_exact_header_is_refused() {
        assert_eq!(parse(""), Err(DataError::Header));
        assert_eq!(parse("178,13,class_0\n"), Err(DataError::Header));
        assert_eq!(parse(&format!("{HEADER}\n")), Err(DataError::Empty));
    }

    #[test]
    fn more_rows_than_the_limit_are_refused() {
        let rows = "1,2,3,4,5,6,7,8,9,10,11,12,13,0\n".repeat(ROWS_MAX + 1);
        let found = ROWS_MAX + 1;
        assert_eq!(parse(&format!("{HEADER}\n{rows}")), Err(DataError::TooMany { found }));
    }

    #[test]
    fn a_line_with_a_field_too_many_or_too_few_is_refused_with_its_number() {
        for (row, found) in
            [("1,2,3,4,5,6,7,8,9,10,11,12,13", 13), ("1,2,3,4,5,6,7,8,9,10,11,12,13,0,", 15), ("", 1)]
        {
            assert_eq!(parse(&csv(row)), Err(DataError::FieldCount { line: 3, found }));
        }
    }

    #[test]
    fn a_value_that_is_not_a_plain_decimal_is_refused_with_its_place() {
        for text in ["", " 2", "-2", "+2", "2.", ".2", "2e3", "NaN", "1.2.3", "0.1234567", "123456", "²"] {
            let row = format!("1,{text},3,4,5,6,7,8,9,10,11,12,13,0");
            let expected = DataError::Number { line: 3, column: 2, text: text.to_owned() };
            assert_eq!(parse(&csv(&row)), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn a_class_outside_the_three_is_refused() {
        for text in ["3", "-1", "", "00", "class_0"] {
            let row = format!("1,2,3,4,5,6,7,8,9,10,11,12,13,{text}");
            assert_eq!(parse(&csv(&row)), Err(DataError::Class { line: 3, text: text.to_owned() }));
        }
    }
}
