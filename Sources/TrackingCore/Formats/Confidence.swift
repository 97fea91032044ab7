/// Converts the error estimates of receivers to 68 % confidence.
///
/// For errors with a normal distribution and the standard deviation σ in each direction, the radius that contains a
/// share p of the fixes is σ·√(−2·ln(1 − p)): 1.5096 σ for 68 %, 2.4477 σ for 95 %. In one dimension, 68 % is σ itself
/// (0.9945 σ, taken as 1) and 95 % is 1.96 σ.
package enum Confidence {
    /// The factor from a 95 % radius to a 68 % radius: 1.5096 / 2.4477.
    package static let radiusFrom95 = 1 / 1.6214
    /// The factor from 95 % to 68 % in one dimension.
    package static let lineFrom95 = 1 / 1.96

    /// The error in metres for one unit of HDOP: the standard deviation of one range (user equivalent range error).
    ///
    /// A receiver's own estimate (GST, gpsd) is preferred to this value.
    package static let rangeError = 5.0
    /// The error in metres for one unit of HDOP with differential corrections (SBAS, DGPS).
    package static let differentialRangeError = 2.0

    /// Returns the radius in metres that contains 68 % of the fixes, for the standard deviations σn north and σe east.
    /// The radius is 1.5096 / √2 · √(σn² + σe²).
    package static func radius(deviations first: Double, _ second: Double) -> Double {
        1.0675 * (first * first + second * second).squareRoot()
    }

    /// Returns the 68 % radius in metres for a horizontal dilution of precision (HDOP): the HDOP times the range error,
    /// converted as in ``radius(deviations:_:)``.
    package static func radius(dilution: Double, isDifferential: Bool = false) -> Double {
        1.0675 * dilution * (isDifferential ? Self.differentialRangeError : Self.rangeError)
    }
}

extension Double {
    /// The number; `nil` (unknown) when it is not finite. Calculations with very large numbers from external sources
    /// may overflow to infinity.
    package var ifFinite: Double? { self.isFinite ? self : nil }
}
