private import SystemLibrary
import TrackingCore

extension SplitMix64 {
    /// Returns a normally distributed number of mean 0 and standard deviation 1 (Box and Muller).
    mutating func normal() -> Double {
        let radius = (-2 * log(Double.random(in: Double.leastNormalMagnitude...1, using: &self))).squareRoot()
        return radius * cos(2 * .pi * Double.random(in: 0..<1, using: &self))
    }
}
