import TestSupport
import Testing
import TrackingCore
import TrackingSubscriber

/// The cost of another unknown publisher of a trackable does not depend on their number.
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
        // A scan of all publishers for each one takes about ten times as long.
        #expect(last < first * 6, "\(first) for 100 at first, \(last) at last")
        let leaving = (0..<40).map { block in
            time {
                for number in 0..<100 { _ = talk.receive("van/publisher/p\(block * 100 + number)", "") }
            }
        }
        let (early, late) = (leaving[1..<6].min() ?? .zero, leaving.suffix(5).min() ?? .zero)
        #expect(early < late * 6, "\(early) for 100 at first, \(late) at last")
    }

    /// A publisher of many trackables arrives: the subscriber announces itself on all of them together.
    @Test func oneLivenessSufficesForSimultaneousArrivals() throws {
        var talk = try SubscriberConversation { $0.watchesAll = true }
        _ = talk.connect(0)
        _ = talk.granted()
        func arrive(_ numbers: Range<Int>) {
            for number in numbers {
                _ = talk.receive(
                    "van-\(number)/publisher/d1",
                    #"{"type":"PUBLISHER","session":"a","connection":0,"lease":90,"since":1,"stream":"s\#(number)"}"#)
            }
        }
        for round in 0..<3 {
            arrive((round * 50)..<(round * 50 + 50))
            let output = talk.wait(.seconds(1))
            #expect(output.count { $0 == "_clients/w1: online mine/0" } == 1)
            #expect(output.count { $0.contains("/subscriber/w1: present") } == 50)
        }
    }
}
