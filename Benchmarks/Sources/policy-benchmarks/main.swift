// What one event costs in the resolution funnel among 10,000 present subscribers, against what it costs among ten: a
// subscriber joins, asks, leaves. Both are run in turn, in rounds, and the median round of each is compared. It fails when
// the target is missed.

private import Glibc
import TrackingCore

let reference = 10
let crowd = 10_000
let rounds = 41
let visitsARound = 10_000
let target = 2.0

/// Subscriber `number`, asking for something that hardly anyone else asks for.
func subscriber(_ number: Int) throws -> (SubscriberID, Resolution) {
    guard let session = SessionID("session\(number)") else { preconditionFailure("the id is neither empty nor long") }
    let accuracies = Resolution.Accuracy.allCases
    let wanted = try Resolution(
        accuracy: accuracies[number % accuracies.count],
        desiredInterval: .milliseconds(1_000 + number * 7_919 % 60_000),
        minimumDisplacement: Meters(Double(number * 104_729 % 10_000) / 10))
    return (SubscriberID(client: try ClientID("watcher-\(number)"), session: session), wanted)
}

/// A funnel in which the first `count` subscribers are present and ask.
func funnel(_ count: Int) throws -> ResolutionStateMachine {
    let own = ResolutionSet(all: .standard)
    var machine = ResolutionStateMachine(
        constraints: try ResolutionConstraints(resolutions: own, batteryLevelThreshold: 20, lowBatteryMultiplier: 2))
    for number in 0..<count {
        let (id, wanted) = try subscriber(number)
        _ = machine.changed(.subscriberCame(id))
        _ = machine.changed(.requestMade(id, wanted))
    }
    return machine
}

/// Nanoseconds an event, while visitors join, ask and leave. `answers` keeps the work from being left out.
func round(_ machine: inout ResolutionStateMachine, _ visitors: [(SubscriberID, Resolution)], answers: inout Int)
    -> Double
{
    let start = ContinuousClock.now
    for visit in 0..<visitsARound {
        let (id, wanted) = visitors[visit % visitors.count]
        if machine.changed(.subscriberCame(id)) != nil { answers += 1 }
        if machine.changed(.requestMade(id, wanted)) != nil { answers += 1 }
        if machine.changed(.subscriberLeft(id)) != nil { answers += 1 }
    }
    return (ContinuousClock.now - start).inSeconds * 1e9 / Double(3 * visitsARound)
}

func pad(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(0, width - text.count)) }

/// With one decimal.
func text(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

/// Measures one kind of visitor, prints its line and says whether the target is met.
func compare(_ name: String, _ visitors: [(SubscriberID, Resolution)]) throws -> Bool {
    var few = try funnel(reference)
    var many = try funnel(crowd)
    var costs: (few: [Double], many: [Double]) = ([], [])
    var answers = 0
    for _ in 0..<rounds {
        costs.few.append(round(&few, visitors, answers: &answers))
        costs.many.append(round(&many, visitors, answers: &answers))
    }
    let median = (few: costs.few.sorted()[rounds / 2], many: costs.many.sorted()[rounds / 2])
    let ratio = median.many / median.few
    let isMet = ratio <= target
    print(
        pad(name, 40), pad("\(text(median.few)) ns", 12), pad("\(text(median.many)) ns", 12),
        pad(text(ratio) + " ×", 8),
        isMet ? "≤ \(target) ×" : "above \(target) ×", "(\(answers) answers)")
    return isMet
}

let visitors = try (crowd..<(crowd + 1_000)).map(subscriber)
let finest = try Resolution(accuracy: .maximum, desiredInterval: .zero, minimumDisplacement: 0)
print(
    pad("policy: joins, asks, leaves; an event", 40), pad("among 10", 12), pad("among 10,000", 12), pad("ratio", 8),
    "target")
let results = [
    try compare("asks for something in the middle", visitors),
    try compare("asks for the finest of all each time", visitors.map { ($0.0, finest) }),
]
if results.contains(false) { exit(1) }
