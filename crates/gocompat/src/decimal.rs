//! Decimal arithmetic as sprig's `addf`, `subf`, `mulf` and `divf` do it: doubles are taken at
//! their shortest decimal form, calculated with exactly (division to 16 places), and turned back.
//! Also sprig's `round`.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::strconv::format_float;

/// Places a quotient is rounded to.
const DIVISION_PLACES: i32 = 16;

/// What is done with the numbers, from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient.
    Div,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// The divisor is zero.
    #[error("decimal division by 0")]
    DivisionByZero,
    /// Infinity or NaN.
    #[error("Cannot create a Decimal from {0}")]
    NotFinite(String),
    /// So many factors that the exponent does not fit.
    #[error("exponent {0} overflows an int32!")]
    Exponent(i64),
}

/// `value * 10^exponent`.
#[derive(Clone, Debug)]
struct Decimal {
    value: BigInt,
    exponent: i32,
}

/// Applies `operation` to `first` and each of `rest` in turn.
///
/// # Errors
/// Division by zero, numbers that are not finite, and exponents beyond 32 bits.
pub fn calculate(operation: Operation, first: f64, rest: &[f64]) -> Result<f64, DecimalError> {
    let mut result = Decimal::from_float(first)?;
    for &number in rest {
        let number = Decimal::from_float(number)?;
        result = match operation {
            Operation::Add => result.add(&number),
            Operation::Sub => result.add(&Decimal {
                value: -number.value,
                exponent: number.exponent,
            }),
            Operation::Mul => result.mul(&number)?,
            Operation::Div => result.div(&number)?,
        };
    }
    Ok(result.to_float())
}

impl Decimal {
    fn from_float(number: f64) -> Result<Self, DecimalError> {
        let text = format_float(number, b'e', -1, 64);
        if !number.is_finite() {
            return Err(DecimalError::NotFinite(text));
        }
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse::<i64>().unwrap_or(0);
        let exponent = exponent.parse::<i32>().unwrap_or(0) - fraction.len() as i32;
        Ok(Self {
            value: BigInt::from(digits),
            exponent: if digits == 0 { 0 } else { exponent },
        })
    }

    /// The nearest double, by way of text since reading that rounds correctly.
    fn to_float(&self) -> f64 {
        format!("{}e{}", self.value, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }

    /// The value at a smaller or equal exponent.
    fn scaled(&self, exponent: i32) -> BigInt {
        let steps = u32::try_from(i64::from(self.exponent) - i64::from(exponent)).unwrap_or(0);
        if self.value == BigInt::ZERO {
            BigInt::ZERO
        } else {
            &self.value * ten_to(steps)
        }
    }

    fn add(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self {
            value: self.scaled(exponent) + other.scaled(exponent),
            exponent,
        }
    }

    fn mul(&self, other: &Self) -> Result<Self, DecimalError> {
        let exponent = i64::from(self.exponent) + i64::from(other.exponent);
        let fits = i32::try_from(exponent).map_err(|_| DecimalError::Exponent(exponent))?;
        Ok(Self {
            value: &self.value * &other.value,
            exponent: fits,
        })
    }

    /// The quotient to [`DIVISION_PLACES`], halves away from zero.
    fn div(&self, other: &Self) -> Result<Self, DecimalError> {
        if other.value == BigInt::ZERO {
            return Err(DecimalError::DivisionByZero);
        }
        let shift =
            i64::from(self.exponent) - i64::from(other.exponent) + i64::from(DIVISION_PLACES);
        let size =
            u32::try_from(shift.unsigned_abs()).map_err(|_| DecimalError::Exponent(shift))?;
        let (dividend, divisor) = if shift < 0 {
            (self.value.clone(), &other.value * ten_to(size))
        } else {
            (&self.value * ten_to(size), other.value.clone())
        };
        let mut quotient = &dividend / &divisor;
        let twice: BigInt = (&dividend - &quotient * &divisor) * 2;
        if twice.magnitude().cmp(divisor.magnitude()) != Ordering::Less {
            let negative = (self.value.sign() == num_bigint::Sign::Minus)
                != (divisor.sign() == num_bigint::Sign::Minus);
            // A remainder of zero is never rounded, so the sign is that of the quotient.
            quotient += if negative { -1 } else { 1 };
        }
        Ok(Self {
            value: quotient,
            exponent: -DIVISION_PLACES,
        })
    }
}

fn ten_to(power: u32) -> BigInt {
    BigInt::from(10).pow(power)
}

/// sprig's `round`: up if the fraction at `places` is at least `round_on`, else down; negative
/// numbers go down.
#[must_use]
pub fn round(value: f64, places: i64, round_on: f64) -> f64 {
    let power = power_of_ten(places);
    let shifted = power * value;
    let rounded = if shifted.fract() >= round_on {
        shifted.ceil()
    } else {
        shifted.floor()
    };
    rounded / power
}

/// `math.Pow(10, places)` by Go's own steps, which round otherwise than the system's `pow`.
fn power_of_ten(places: i64) -> f64 {
    match places {
        0 => return 1.0,
        1 => return 10.0,
        _ => {}
    }
    let (mut result, mut result_exponent) = (1.0_f64, 0_i64);
    // Ten as a fraction of at least a half and a power of two.
    let (mut base, mut base_exponent) = (0.625_f64, 4_i64);
    let mut left = places.unsigned_abs();
    while left != 0 {
        if base_exponent.abs() > 1 << 12 {
            result_exponent += base_exponent;
            break;
        }
        if left & 1 == 1 {
            result *= base;
            result_exponent += base_exponent;
        }
        base *= base;
        base_exponent *= 2;
        if base < 0.5 {
            base += base;
            base_exponent -= 1;
        }
        left >>= 1;
    }
    if places < 0 {
        result = 1.0 / result;
        result_exponent = -result_exponent;
    }
    scale(result, result_exponent)
}

/// `value * 2^exponent`, in steps so that no step overflows before the result does.
fn scale(mut value: f64, exponent: i64) -> f64 {
    let mut left = exponent.clamp(-3000, 3000);
    while left != 0 {
        let step = left.clamp(-900, 900);
        value *= 2_f64.powi(step as i32);
        left -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_results_have_no_binary_noise() {
        use Operation::{Add, Div, Mul, Sub};
        for (operation, first, rest, want) in [
            (Add, 0.1, &[0.2][..], Ok(0.3)),
            (Add, 1.0, &[], Ok(1.0)),
            (Sub, 0.3, &[0.1, 0.1], Ok(0.1)),
            (Mul, 1.1, &[1.1], Ok(1.21)),
            (Div, 1.0, &[3.0], Ok(0.333_333_333_333_333_3)),
            (Div, 2.0, &[3.0], Ok(0.666_666_666_666_666_7)),
            (Div, -2.0, &[3.0], Ok(-0.666_666_666_666_666_7)),
            (Div, 1e-17, &[1.0], Ok(0.0)),
            (Div, 5e-17, &[1.0], Ok(1e-16)),
            (Div, 1.0, &[0.0], Err(DecimalError::DivisionByZero)),
            (
                Add,
                f64::INFINITY,
                &[],
                Err(DecimalError::NotFinite("+Inf".to_owned())),
            ),
            (Mul, 1e300, &[1e300], Ok(f64::INFINITY)),
            (Add, -0.0, &[], Ok(0.0)),
        ] {
            assert_eq!(
                calculate(operation, first, rest),
                want,
                "{operation:?} {first} {rest:?}"
            );
        }
    }

    #[test]
    fn rounding_looks_at_the_fraction_only() {
        for (value, places, on, want) in [
            (123.5555, 3, 0.5, 123.556),
            (-2.5, 0, 0.5, -3.0),
            (2.5, 0, 0.5, 3.0),
            (2.4, 0, 0.3, 3.0),
            (1234.0, -2, 0.5, 1200.0),
            (1e300, 300, 0.5, f64::INFINITY),
        ] {
            assert_eq!(round(value, places, on), want);
        }
        assert!(round(1.0, 400, 0.5).is_nan());
    }
}
