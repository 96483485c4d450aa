//! Whole numbers in conditions: the shell's arithmetic, `expr` and `test`.

use super::{Gate, NoValue};
use facts::host::{ClockSum, SumOperator};

impl Gate {
    pub(super) fn sum(
        &mut self,
        sum: &ClockSum,
        at_s: i64,
        zone: Option<&str>,
    ) -> Result<i64, NoValue> {
        match sum {
            ClockSum::Number(text) => number(self.text_of(text, at_s, zone)?.trim()),
            ClockSum::Decimal(text) => {
                let text = self.text_of(text, at_s, zone)?;
                text.trim().parse().map_err(|_| NoValue::NoNumber)
            }
            ClockSum::Minus(inner) => {
                let value = self.sum(inner, at_s, zone)?;
                value.checked_neg().ok_or(NoValue::Unknown)
            }
            ClockSum::Not(inner) => Ok(i64::from(self.sum(inner, at_s, zone)? == 0)),
            ClockSum::Of(left, operator, right) => {
                let left = self.sum(left, at_s, zone)?;
                match operator {
                    SumOperator::And if left == 0 => return Ok(0),
                    SumOperator::Or if left != 0 => return Ok(1),
                    _ => {}
                }
                apply(left, *operator, self.sum(right, at_s, zone)?)
            }
        }
    }
}

fn apply(left: i64, operator: SumOperator, right: i64) -> Result<i64, NoValue> {
    let value = match operator {
        SumOperator::Add => left.checked_add(right),
        SumOperator::Subtract => left.checked_sub(right),
        SumOperator::Multiply => left.checked_mul(right),
        SumOperator::Divide | SumOperator::Remainder if right == 0 => {
            return Err(NoValue::NoNumber);
        }
        SumOperator::Divide => left.checked_div(right),
        SumOperator::Remainder => left.checked_rem(right),
        SumOperator::Less => Some(i64::from(left < right)),
        SumOperator::LessOrEqual => Some(i64::from(left <= right)),
        SumOperator::Greater => Some(i64::from(left > right)),
        SumOperator::GreaterOrEqual => Some(i64::from(left >= right)),
        SumOperator::Equal => Some(i64::from(left == right)),
        SumOperator::Unequal => Some(i64::from(left != right)),
        SumOperator::And => Some(i64::from(left != 0 && right != 0)),
        SumOperator::Or => Some(i64::from(left != 0 || right != 0)),
    };
    value.ok_or(NoValue::Unknown)
}

/// Reads a number of the shell's arithmetic: `9`, `-9`, `010`, `0x1f`, bash's `10#09`.
fn number(text: &str) -> Result<i64, NoValue> {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = if let Some((base, digits)) = text.split_once('#') {
        (base.parse().unwrap_or(0), digits)
    } else if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        (16, digits)
    } else if text.len() > 1 && text.starts_with('0') {
        (8, &text[1..])
    } else {
        (10, text)
    };
    let is_plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_alphanumeric());
    if !(2..=36).contains(&radix) || !is_plain {
        return Err(NoValue::NoNumber);
    }
    let value = i64::from_str_radix(digits, radix).map_err(|_| NoValue::NoNumber)?;
    Ok(if is_negative { -value } else { value })
}
