//! The loops of the predefined operations, one instance for each kind of number.

use super::Predefined;
use super::number::{Bits, F16, F80, F128, Number};
use crate::datatype::{Class, Repr};
use crate::usermem::{UserPtr, combine};

/// `inout[i] = input[i] op inout[i]`. The caller has checked that `op` accepts `class`.
pub(super) fn apply(
    op: Predefined,
    class: Class,
    extent: u64,
    input: UserPtr,
    inout: UserPtr,
    count: usize,
) {
    match class {
        Class::Integer(repr) | Class::Character(repr) => integers(op, repr, input, inout, count),
        Class::Byte => bits::<u8>(op, input, inout, count),
        Class::Logical(size) => match size {
            1 => numbers::<u8>(op, input, inout, count),
            2 => numbers::<u16>(op, input, inout, count),
            8 => numbers::<u64>(op, input, inout, count),
            _ => numbers::<u32>(op, input, inout, count),
        },
        Class::Floating(repr) => match repr {
            Repr::Float(2) => numbers::<F16>(op, input, inout, count),
            Repr::Float(4) => numbers::<f32>(op, input, inout, count),
            Repr::Extended => numbers::<F80>(op, input, inout, count),
            Repr::Quad => numbers::<F128>(op, input, inout, count),
            _ => numbers::<f64>(op, input, inout, count),
        },
        Class::Complex(repr) => match repr {
            Repr::Float(4) => complex::<f32>(op, input, inout, count),
            Repr::Extended => complex::<F80>(op, input, inout, count),
            Repr::Quad => complex::<F128>(op, input, inout, count),
            _ => complex::<f64>(op, input, inout, count),
        },
        Class::Pair { value, index, index_at } => {
            let shape = Pairs { input, inout, count, extent: extent as i64, at: index_at.into() };
            match (value, index) {
                (Repr::Float(4), Repr::Int(_)) => shape.pick::<f32, i32>(op),
                (Repr::Float(8), Repr::Int(_)) => shape.pick::<f64, i32>(op),
                (Repr::Extended, _) => shape.pick::<F80, i32>(op),
                (Repr::Int(2), _) => shape.pick::<i16, i32>(op),
                (Repr::Int(4), _) => shape.pick::<i32, i32>(op),
                (Repr::Int(8), _) => shape.pick::<i64, i32>(op),
                (Repr::Float(4), _) => shape.pick::<f32, f32>(op),
                _ => shape.pick::<f64, f64>(op),
            }
        }
        Class::Packed | Class::Marker => {}
    }
}

fn integers(op: Predefined, repr: Repr, input: UserPtr, inout: UserPtr, count: usize) {
    match repr {
        Repr::Int(1) => bits::<i8>(op, input, inout, count),
        Repr::Int(2) => bits::<i16>(op, input, inout, count),
        Repr::Int(4) => bits::<i32>(op, input, inout, count),
        Repr::Int(8) => bits::<i64>(op, input, inout, count),
        Repr::Int(_) => bits::<i128>(op, input, inout, count),
        Repr::Uint(1) => bits::<u8>(op, input, inout, count),
        Repr::Uint(2) => bits::<u16>(op, input, inout, count),
        Repr::Uint(4) => bits::<u32>(op, input, inout, count),
        Repr::Uint(8) => bits::<u64>(op, input, inout, count),
        _ => bits::<u128>(op, input, inout, count),
    }
}

fn bits<T: Bits>(op: Predefined, input: UserPtr, inout: UserPtr, count: usize) {
    match op {
        Predefined::Band => combine::<T>(input, inout, count, T::and),
        Predefined::Bor => combine::<T>(input, inout, count, T::or),
        Predefined::Bxor => combine::<T>(input, inout, count, T::xor),
        _ => numbers::<T>(op, input, inout, count),
    }
}

fn numbers<T: Number>(op: Predefined, input: UserPtr, inout: UserPtr, count: usize) {
    match op {
        Predefined::Max => {
            combine::<T>(input, inout, count, |a, b| if T::less(b, a) { a } else { b });
        }
        Predefined::Min => {
            combine::<T>(input, inout, count, |a, b| if T::less(a, b) { a } else { b });
        }
        Predefined::Sum => combine::<T>(input, inout, count, T::add),
        Predefined::Prod => combine::<T>(input, inout, count, T::multiply),
        Predefined::Land => {
            combine::<T>(input, inout, count, |a, b| T::from_truth(a.truth() & b.truth()));
        }
        Predefined::Lor => {
            combine::<T>(input, inout, count, |a, b| T::from_truth(a.truth() | b.truth()));
        }
        Predefined::Lxor => {
            combine::<T>(input, inout, count, |a, b| T::from_truth(a.truth() ^ b.truth()));
        }
        _ => {}
    }
}

fn complex<T: Number>(op: Predefined, input: UserPtr, inout: UserPtr, count: usize) {
    match op {
        Predefined::Sum => combine::<T>(input, inout, 2 * count, T::add),
        Predefined::Prod => combine::<[T; 2]>(input, inout, count, |[a, b], [c, d]| {
            [
                T::subtract(T::multiply(a, c), T::multiply(b, d)),
                T::add(T::multiply(a, d), T::multiply(b, c)),
            ]
        }),
        _ => {}
    }
}

/// Arrays of value and index.
struct Pairs {
    input: UserPtr,
    inout: UserPtr,
    count: usize,
    extent: i64,
    /// Where the index lies.
    at: i64,
}

impl Pairs {
    /// `MPI_MAXLOC` or `MPI_MINLOC`: the better value with its index; of equals, the lower index.
    /// Padding of the result is left alone.
    fn pick<V: Number, I: Number>(&self, op: Predefined) {
        let better =
            |a: V, b: V| if op == Predefined::Maxloc { V::less(b, a) } else { V::less(a, b) };
        for i in 0..self.count as i64 {
            let (from, to) =
                (self.input.offset(i * self.extent), self.inout.offset(i * self.extent));
            let (a, b) = (from.load::<V>(), to.load::<V>());
            let index = from.offset(self.at).load::<I>();
            if better(a, b) {
                to.store(a);
                to.offset(self.at).store(index);
            } else if !better(b, a) && I::less(index, to.offset(self.at).load::<I>()) {
                to.offset(self.at).store(index);
            }
        }
    }
}
