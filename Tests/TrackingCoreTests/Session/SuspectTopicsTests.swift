import Testing

@testable import TrackingCore

/// A topic or filter is suspended when the broker answers it three times in a row by closing the connection.
@Suite struct SuspectTopicsTests {
    private var suspects = SuspectTopics()
    private let start = MonotonicTime(.seconds(100))

    private func at(_ seconds: Double) -> MonotonicTime { self.start.advanced(by: .seconds(seconds)) }

    private func isRefused(_ verdict: SuspectTopics.Verdict) -> Bool {
        if case .refuse(let error) = verdict { error.code == .notAuthorized } else { false }
    }

    @Test func threeClosesRunningSetATopicAside() {
        var suspects = self.suspects
        #expect(suspects.verdict(on: "a", now: self.at(0)) == .send)
        #expect(suspects.closed(unanswered: ["a"], now: self.at(0)) == [])
        #expect(suspects.verdict(on: "a", now: self.at(0)) == .send, "a broker may close for other reasons")
        #expect(suspects.closed(unanswered: ["a"], now: self.at(1)) == [])
        #expect(suspects.verdict(on: "a", now: self.at(1)) == .sendAlone)
        #expect(suspects.closed(unanswered: ["a"], now: self.at(2)) == ["a"])
        #expect(self.isRefused(suspects.verdict(on: "a", now: self.at(31.9))))
        #expect(suspects.verdict(on: "b", now: self.at(3)) == .send)
    }

    @Test func anAnswerClearsATopic() {
        var suspects = self.suspects
        for _ in 0..<2 { _ = suspects.closed(unanswered: ["a"], now: self.at(0)) }
        suspects.answered("a")
        #expect(suspects.isEmpty)
        for _ in 0..<2 { #expect(suspects.closed(unanswered: ["a"], now: self.at(0)) == []) }
    }

    /// Of several topics in flight together none is suspended. The culprit is found when each is sent alone.
    @Test func theCulpritOfSeveralIsFound() {
        var suspects = self.suspects
        for second in 0..<5 {
            #expect(suspects.closed(unanswered: ["a", "b", "c"], now: self.at(Double(second))) == [])
        }
        for name in ["a", "b", "c"] { #expect(suspects.verdict(on: name, now: self.at(5)) == .sendAlone) }
        suspects.answered("a")
        #expect(suspects.closed(unanswered: ["b"], now: self.at(7)) == ["b"])
        #expect(suspects.verdict(on: "a", now: self.at(8)) == .send)
        #expect(suspects.verdict(on: "c", now: self.at(8)) == .sendAlone)
    }

    /// Two messages of one topic are one suspect.
    @Test func severalMessagesOfOneTopicAreOneSuspect() {
        var suspects = self.suspects
        for _ in 0..<2 { #expect(suspects.closed(unanswered: ["a", "a"], now: self.at(0)) == []) }
        #expect(suspects.closed(unanswered: ["a", "a"], now: self.at(0)) == ["a"])
    }

    /// A suspended topic is tried once more after its time. Another close suspends it for twice as long, up to a
    /// quarter of an hour.
    @Test(arguments: [(1, 30), (2, 60), (3, 120), (4, 240), (5, 480), (6, 900), (7, 900)])
    func theTimeGrows(times: Int, seconds: Int) {
        var suspects = self.suspects
        for _ in 0..<2 { _ = suspects.closed(unanswered: ["a"], now: self.start) }
        var now = self.start
        for _ in 1..<times {
            #expect(suspects.closed(unanswered: ["a"], now: now) == ["a"])
            while self.isRefused(suspects.verdict(on: "a", now: now)) { now = now.advanced(by: .seconds(1)) }
        }
        #expect(suspects.closed(unanswered: ["a"], now: now) == ["a"])
        #expect(self.isRefused(suspects.verdict(on: "a", now: now.advanced(by: .seconds(Double(seconds) - 0.1)))))
        #expect(suspects.verdict(on: "a", now: now.advanced(by: .seconds(seconds))) == .sendAlone)
    }

    @Test func aCloseWithNothingUnansweredSuspectsNothing() {
        var suspects = self.suspects
        #expect(suspects.closed(unanswered: [String](), now: self.start) == [])
        #expect(suspects.isEmpty)
    }

    @Test func noMoreThanItsBoundIsRemembered() {
        var suspects = self.suspects
        for _ in 0..<2 { _ = suspects.closed(unanswered: (0..<20_000).map(String.init), now: self.start) }
        let count = (0..<20_000).count { suspects.verdict(on: String($0), now: self.start) != .send }
        #expect(count == SuspectTopics.maximumNames)
        #expect(suspects.closed(unanswered: ["new"], now: self.start) == [])
        #expect(suspects.verdict(on: "new", now: self.start) == .send)
    }
}
