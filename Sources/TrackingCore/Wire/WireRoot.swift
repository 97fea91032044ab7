/// The place of an object within a message, for error messages. Its text is created only for an error.
enum WireRoot {
    case message
    case location
    case skipped(Int)
    case intermediate(Int)
    case resolution
    case enhanced
    case stop(Int)

    /// Returns the path of a member of this object, for example `skippedLocations[3].properties.speed`.
    func path(_ member: String) -> String {
        let object =
            switch self {
            case .message: member.isEmpty ? "the payload" : ""
            case .location: "location"
            case .skipped(let index): "skippedLocations[\(index)]"
            case .intermediate(let index): "intermediateLocations[\(index)]"
            case .resolution: "resolution"
            case .enhanced: "enhanced"
            case .stop(let index): "stops[\(index)]"
            }
        return object.isEmpty || member.isEmpty ? object + member : "\(object).\(member)"
    }
}

/// The permitted range of a number in messages, as bounds and as a phrase for error messages.
package struct NumberRule {
    let lowest: Double
    let highest: Double
    let words: StaticString

    package static let finite = NumberRule(
        lowest: -.greatestFiniteMagnitude, highest: .greatestFiniteMagnitude, words: "a number")
    static let notNegative = NumberRule(lowest: 0, highest: .greatestFiniteMagnitude, words: "a number of 0 or more")
    static let fraction = NumberRule(lowest: 0, highest: 1, words: "a number from 0 to 1")
    static let radius = NumberRule(lowest: 1, highest: 100_000, words: "a number of metres from 1 to 100000")
    static let percent = NumberRule(lowest: 0, highest: 100, words: "a number from 0 to 100")
    package static let latitude = NumberRule(lowest: -90, highest: 90, words: "a latitude from -90 to 90")
    package static let longitude = NumberRule(lowest: -180, highest: 180, words: "a longitude from -180 to 180")
    static let bearing = NumberRule(lowest: 0, highest: 360, words: "a number from 0 to below 360")
    static let time = NumberRule(lowest: -1e11, highest: 1e11, words: "Unix time in seconds")
    static let lease = NumberRule(lowest: 1, highest: 86_400, words: "a number of seconds from 1 to 86400")
    static let interval = NumberRule(lowest: 0, highest: 31_536_000_000, words: "milliseconds, from 0 to 365 days")
    static let milliseconds = NumberRule(lowest: 0, highest: 9_007_199_254_740_991, words: "milliseconds, 0 or more")

    /// Returns `true` when the value is within the range; `false` for NaN and infinities.
    @inline(__always)
    func allows(_ value: Double) -> Bool { value >= self.lowest && value <= self.highest }
}
