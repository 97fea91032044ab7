import TestSupport
import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the cost of many subscribers on one trackable.
@Suite struct ManyStrangersTests {
    @Test func howeverManyComeFewResolutionsWaitForTheBroker() throws {
        var talk = try PublisherConversation.online()
        let most = TrackableResolution.maximumUnacknowledged
        var said: [String] = []
        for number in 1...200 { said += talk.subscriber("w\(number)") + talk.wait(.milliseconds(400)) }
        #expect(said.count { $0.hasPrefix("van/resolution: ") } == most)
        // The last suppressed change is published when there is room; then every change is published.
        var answers: [String] = []
        for _ in 0..<3 { answers += talk.acked() + talk.wait(.seconds(1)) }
        #expect(
            answers.filter { $0.hasPrefix("van/resolution: ") } == [
                "van/resolution: BALANCED/10000/0 ONLINE subscribers 200"
            ])
        #expect(talk.subscriber("another").contains("van/resolution: BALANCED/10000/0 ONLINE subscribers 201"))
    }

    @Test func aLostConnectionLeavesNoResolutionUnderWay() throws {
        var talk = try PublisherConversation.online()
        for number in 1...100 { _ = talk.subscriber("w\(number)") }
        _ = talk.lose()
        _ = talk.connect(1)
        let back = talk.granted() + talk.echoed() + talk.acked()
        #expect(back.contains { $0.hasPrefix("van/resolution: ") && $0.hasSuffix("subscribers 100") })
    }

    @Test(.enabled(if: ProcessorTime.isTelling)) func aFullBookOfRequestsIsNotGoneThroughForEachFurtherOne() throws {
        var talk = try PublisherConversation.online()
        func stranger(_ number: Int) {
            _ = talk.subscriber("w\(number)", "s\(number)")
            _ = talk.request("w\(number)", "s\(number)", interval: 5_000)
        }
        func time(_ numbers: Range<Int>) -> Duration {
            ProcessorTime.measure { for number in numbers { stranger(number) } }
        }
        let most = ResolutionRequests.maximumClients
        let early = (0..<5).map { time(($0 * 20)..<($0 * 20 + 20)) }.min() ?? .zero
        _ = time(100..<most)
        let late = (0..<5).map { time((most + $0 * 20)..<(most + $0 * 20 + 20)) }.min() ?? .zero
        #expect(late < early * 10, "\(early) for 20 at first, \(late) beyond the last that has room")
        // A subscriber leaves for good, and the next request has room.
        let id = try TrackableID("van")
        _ = talk.receive("tracking/van/subscriber/w5", "")
        stranger(most + 1_000)
        #expect(talk.machine.table[id]?.requests.byClient[try ClientID("w\(most + 1_000)")] != nil)
        #expect(talk.machine.table[id]?.requests.byClient.count == most)
    }
}
