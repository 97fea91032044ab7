extension Collection<Double> {
    /// Returns the value that `share` (0…1) of the values do not exceed. The array must not be empty.
    public func percentile(_ share: Double) -> Double {
        let sorted = self.sorted()
        return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }

    /// The median of the values. The array must not be empty.
    public var median: Double { self.percentile(0.5) }
}

/// Runs two measurements in turn, `count` times each, and returns the results of each in order.
public func alternate<Value>(
    rounds count: Int, _ reference: () async throws -> Value, _ measured: () async throws -> Value
) async rethrows -> (reference: [Value], measured: [Value]) {
    var values: (reference: [Value], measured: [Value]) = ([], [])
    for _ in 0..<count {
        values.reference.append(try await reference())
        values.measured.append(try await measured())
    }
    return values
}

/// The reason why a benchmark could not be run.
public struct BenchmarkError: Error, CustomStringConvertible {
    /// The reason as text.
    public let description: String

    /// Makes an error with the reason as text.
    public init(_ description: String) { self.description = description }
}
