import TestSupport
import Testing
import TrackingCore
import TrackingSubscriber

/// Strangers that claim to carry a trackable cost the same each, however many there are.
@Suite struct ManyPublishersTests {
    @Test(.enabled(if: ProcessorTime.isTelling)) func theLastStrangersCostAsMuchAsTheFirst() throws {
        var talk = try SubscriberConversation.online()
        func time(_ step: () -> Void) -> Duration { ProcessorTime.measure(step) }
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
        #expect(last < first * 6, "\(first) for 100 at first, \(last) at last")
        let leaving = (0..<40).map { block in
            time {
                for number in 0..<100 { _ = talk.hear("van/publisher/p\(block * 100 + number)", "") }
            }
        }
        let (early, late) = (leaving[1..<6].min() ?? .zero, leaving.suffix(5).min() ?? .zero)
        #expect(early < late * 6, "\(early) for 100 at first, \(late) at last")
    }

    /// A publisher of many trackables comes: they are announced to it together.
    @Test func oneLivenessDoesForAllThatArriveTogether() throws {
        var talk = try SubscriberConversation { $0.watchesAll = true }
        _ = talk.connect(0)
        _ = talk.granted()
        func arrive(_ numbers: Range<Int>) {
            for number in numbers {
                _ = talk.hear(
                    "van-\(number)/publisher/d1",
                    #"{"type":"PUBLISHER","session":"a","connection":0,"lease":90,"since":1,"stream":"s\#(number)"}"#)
            }
        }
        for round in 0..<3 {
            arrive((round * 50)..<(round * 50 + 50))
            let said = talk.wait(.seconds(1))
            #expect(said.count { $0 == "_clients/w1: online mine/0" } == 1)
            #expect(said.count { $0.contains("/subscriber/w1: present") } == 50)
        }
    }
}
