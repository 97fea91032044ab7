/// Brings the error figures of receivers to ours: 68 % confidence.
///
/// For errors that are normal with standard deviation σ in each direction, the radius that holds a share p of the fixes is
/// σ·√(−2·ln(1 − p)): 1.5096 σ for 68 %, 2.4477 σ for 95 %. In one dimension 68 % is σ itself (0.9945 σ, taken as 1) and
/// 95 % is 1.96 σ.
package enum Confidence {
    /// From a radius that holds 95 % to one that holds 68 %: 2.4477 / 1.5096.
    package static let radiusFrom95 = 1 / 1.6214
    /// From a 95 % figure in one dimension to 68 %.
    package static let lineFrom95 = 1 / 1.96

    /// What one unit of HDOP is worth, in metres: the standard deviation of one range (user equivalent range error).
    ///
    /// A receiver's own estimate (GST, gpsd) is always preferred to these.
    package static let rangeError = 5.0
    /// The same with differential corrections (SBAS, DGPS).
    package static let differentialRangeError = 2.0

    /// The radius that holds 68 %, from the standard deviations north and east: with d = √(σn² + σe²), which is √2 σ for
    /// equal ones, 1.5096 / √2 · d.
    package static func radius(deviations first: Double, _ second: Double) -> Double {
        1.0675 * (first * first + second * second).squareRoot()
    }

    /// The radius that holds 68 %, from a dilution of precision: HDOP · range error is the d of ``radius(deviations:_:)``.
    package static func radius(dilution: Double, isDifferential: Bool = false) -> Double {
        1.0675 * dilution * (isDifferential ? Self.differentialRangeError : Self.rangeError)
    }
}

extension Double {
    /// The number, or `nil` (unknown) where it is none or too large: figures of a hostile size overflow when they are combined.
    package var ifFinite: Double? { self.isFinite ? self : nil }
}
