import Testing
import TrackingCore

/// Strangers that claim to carry a trackable cost the same each, however many there are.
@Suite struct ManyPublishersTests {
    @Test func theLastStrangersCostAsMuchAsTheFirst() throws {
        var talk = try SubscriberConversation.online()
        func time(_ step: () -> Void) -> Duration { ContinuousClock().measure(step) }
        let blocks = (0..<40).map { block in
            time {
                for number in 0..<100 {
                    let name = "\(block * 100 + number)"
                    _ = talk.publisher("p\(name)", "s\(name)", since: 400, stream: "t\(name)")
                }
            }
        }
        let (first, last) = (blocks[1..<6].min() ?? .zero, blocks.suffix(5).min() ?? .zero)
        // Looking at everyone for each makes it about ten times as long.
        #expect(last < first * 4, "\(first) for 100 at first, \(last) at last")
        let leaving = (0..<40).map { block in
            time {
                for number in 0..<100 { _ = talk.hear("van/publisher/p\(block * 100 + number)", "") }
            }
        }
        let (early, late) = (leaving[1..<6].min() ?? .zero, leaving.suffix(5).min() ?? .zero)
        #expect(early < late * 4, "\(early) for 100 at first, \(late) at last")
    }
}
