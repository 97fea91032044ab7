/// Converts the error estimates of GPS receivers to a confidence of 68 %.
///
/// The errors are taken to have a normal distribution with the standard deviation σ in each direction. The radius that
/// contains 68 % of the fixes is then 1.5096 σ, and that for 95 % is 2.4477 σ. In one dimension, 68 % corresponds to σ,
/// and 95 % to 1.96 σ.
package enum Confidence {
    /// The factor that converts a radius of 95 % confidence to one of 68 %: 1.5096 / 2.4477.
    package static let radiusFrom95 = 1 / 1.6214
    /// The factor that converts an error of 95 % confidence in one dimension (such as height) to 68 %: 1 / 1.96.
    package static let lineFrom95 = 1 / 1.96

    /// The position error in metres for an HDOP (horizontal dilution of precision) of 1: the standard deviation of a
    /// measured distance to a satellite, 5 m.
    ///
    /// If a receiver reports an error estimate of its own, that estimate is used instead.
    package static let rangeError = 5.0
    /// The position error in metres for an HDOP (horizontal dilution of precision) of 1, with differential corrections
    /// such as SBAS: 2 m.
    package static let differentialRangeError = 2.0

    /// Returns the radius in metres that contains 68 % of the fixes, from the standard deviations σ₁ and σ₂ of the
    /// errors in two perpendicular directions. The radius is 1.5096 / √2 · √(σ₁² + σ₂²).
    package static func radius(deviations first: Double, _ second: Double) -> Double {
        1.0675 * (first * first + second * second).squareRoot()
    }

    /// Returns the radius in metres that contains 68 % of the fixes, from a horizontal dilution of precision (HDOP).
    /// The radius is the HDOP multiplied by the position error for an HDOP of 1 (5 m, or 2 m with differential
    /// corrections) and by 1.0675.
    package static func radius(dilution: Double, isDifferential: Bool = false) -> Double {
        1.0675 * dilution * (isDifferential ? Self.differentialRangeError : Self.rangeError)
    }
}

extension Double {
    /// This number, or `nil` (unknown) when it is infinite or not a number. Calculations with very large numbers from
    /// other devices may overflow to infinity.
    package var ifFinite: Double? { self.isFinite ? self : nil }
}
