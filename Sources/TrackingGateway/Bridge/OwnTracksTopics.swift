package import TrackingCore

/// Where OwnTracks' messages are on the broker: `owntracks/user/device`, and what stands beneath it.
package struct OwnTracksTopics: Hashable, Sendable {
    /// The levels above the user, without a slash at either end.
    package let root: String

    /// A topic of a device.
    struct Place: Hashable {
        let user: String
        let device: String
        /// What stands beneath the device, as `event`; `nil` where positions are.
        let part: String?
    }

    /// The parts that are taken in. The others ask something of a server, or hold passwords.
    static let parts = ["event", "waypoint", "waypoints", "status", "step", "beacon", "info"]

    /// Makes the topics beneath a root of 1 to 4 levels, at most 256 bytes.
    ///
    /// - Throws: `invalidName` that says which rule is broken.
    package init(root: String = "owntracks") throws(TrackingError) {
        let levels = root.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...4).contains(levels.count), root.utf8.count <= 256, levels.allSatisfy(Self.isLevel) else {
            throw TrackingError(
                .invalidName,
                "the root of OwnTracks' topics has 1 to 4 levels, without + # $ and control characters; not '\(root.prefix(80))'"
            )
        }
        self.root = root
    }

    /// Whether a text can be a level of a topic that is published to.
    package static func isLevel(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                !"+#$/".unicodeScalars.contains($0) && $0.properties.generalCategory != .control
            }
    }

    /// What every device publishes.
    var filters: [String] { [self.positions] + Self.parts.map { "\(self.positions)/\($0)" } }
    /// The positions of every device.
    var positions: String { "\(self.root)/+/+" }

    /// The topic of a device's positions.
    func path(user: String, device: String) -> String { "\(self.root)/\(user)/\(device)" }

    /// Whose topic it is; `nil` where it is none of these.
    func place(_ topic: String) -> Place? {
        guard topic.hasPrefix("\(self.root)/") else { return nil }
        let levels = topic.dropFirst(self.root.count + 1).split(separator: "/", omittingEmptySubsequences: false)
        guard (2...3).contains(levels.count), levels.allSatisfy({ !$0.isEmpty }) else { return nil }
        return Place(
            user: String(levels[0]), device: String(levels[1]), part: levels.count == 3 ? String(levels[2]) : nil)
    }
}
