@testable import TrackingCore

extension Resolution {
    /// `Resolution(.high, every: 1_000, moving: 5)`: milliseconds and metres, known to be in range.
    init(_ accuracy: Accuracy, every milliseconds: Int64, moving displacement: Meters) {
        self.init(unchecked: accuracy, milliseconds: milliseconds, displacement: displacement)
    }

    static func random(using generator: inout SplitMix64) -> Resolution {
        Resolution(
            Accuracy.allCases.randomElement(using: &generator)!,  // allCases is not empty
            every: .random(in: 0...20, using: &generator) * 500,
            moving: Meters(.random(in: 0...20, using: &generator) * 2.5))
    }
}

extension SubscriberID {
    /// A subscriber named by number; the session distinguishes two connections of one client.
    init(_ number: Int, session: String = "s") {
        self.init(
            client: ClientID(topicLevel: "watcher-\(number)")!,  // the alphabet allows it
            session: SessionID(session)!)  // not empty
    }
}

extension MonotonicTime {
    static func seconds(_ seconds: Double) -> MonotonicTime { MonotonicTime(.seconds(seconds)) }
}
