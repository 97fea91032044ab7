extension Collection<Double> {
    /// The value that `share` (0…1) of the values do not exceed. There is at least one value.
    public func percentile(_ share: Double) -> Double {
        let sorted = self.sorted()
        return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }

    /// The middle one.
    public var median: Double { self.percentile(0.5) }
}

/// Runs two measurements in turn, `count` times each, and returns what each found, in order.
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

/// Why a benchmark could not be run.
public struct BenchmarkError: Error, CustomStringConvertible {
    /// The sentence to read.
    public let description: String

    /// Makes an error.
    public init(_ description: String) { self.description = description }
}
