@testable import TrackingCore

/// A generator that gives the same numbers on every run (SplitMix64), so that a failing property names its case.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension Resolution {
    /// `Resolution(.high, every: 1_000, moving: 5)`: milliseconds and metres, known to be in range.
    init(_ accuracy: Accuracy, every milliseconds: Int64, moving displacement: Meters) {
        self.init(unchecked: accuracy, milliseconds: milliseconds, displacement: displacement)
    }

    static func random(using generator: inout SeededGenerator) -> Resolution {
        Resolution(
            Accuracy.allCases.randomElement(using: &generator)!,  // allCases is not empty
            every: .random(in: 0...20, using: &generator) * 500,
            moving: Meters(.random(in: 0...20, using: &generator) * 2.5))
    }
}

extension SubscriberID {
    /// A subscriber named by number; the session tells two connections of one client apart.
    init(_ number: Int, session: String = "s") {
        self.init(
            client: ClientID(topicLevel: "watcher-\(number)")!,  // the alphabet allows it
            session: SessionID(session)!)  // not empty
    }
}

extension MonotonicTime {
    static func seconds(_ seconds: Double) -> MonotonicTime { MonotonicTime(.seconds(seconds)) }
}
