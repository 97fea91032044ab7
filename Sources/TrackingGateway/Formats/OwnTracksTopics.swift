package import TrackingCore

/// The topics of OwnTracks on the broker: `owntracks/user/device` for positions, and further levels below it for other
/// messages.
package struct OwnTracksTopics: Hashable, Sendable {
    /// The topic levels above the user, such as `owntracks`, without a slash at either end.
    package let root: String

    /// The levels of an OwnTracks topic below the root: the user, the device, and the optional level below the device.
    struct Place: Hashable {
        let user: String
        let device: String
        /// The topic level below the device, such as `event`; `nil` for the topic of positions.
        let part: String?
    }

    /// The topic levels below a device whose messages are ingested. Messages on other levels are not ingested, because
    /// they are requests to a server or contain passwords.
    static let parts = ["event", "waypoint", "waypoints", "status", "step", "beacon", "info"]

    /// Creates the OwnTracks topics below a root of 1 to 4 levels and at most 256 bytes.
    ///
    /// - Throws: `invalidName` with the rule that the root breaks.
    package init(root: String = "owntracks") throws(TrackingError) {
        let levels = root.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...4).contains(levels.count), root.utf8.count <= 256, levels.allSatisfy(Self.isLevel) else {
            throw TrackingError(
                .invalidName,
                "cannot use '\(root.prefix(80))' as the root of OwnTracks' topics: it must have 1 to 4 levels without + # $ and control characters, and at most 256 bytes"
            )
        }
        self.root = root
    }

    /// Returns `true` if a text is valid as one level of an OwnTracks topic.
    package static func isLevel(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                !"+#$/".unicodeScalars.contains($0) && $0.properties.generalCategory != .control
            }
    }

    /// The topic filters for the messages of all OwnTracks devices.
    var filters: [String] { [self.positions] + Self.parts.map { "\(self.positions)/\($0)" } }
    /// The topic filter for the positions of all OwnTracks devices.
    var positions: String { "\(self.root)/+/+" }

    /// Returns the OwnTracks topic of a device's positions.
    func path(user: String, device: String) -> String { "\(self.root)/\(user)/\(device)" }

    /// Returns the user, the device and the level below the device of a topic; `nil` if it is not an OwnTracks topic.
    func place(_ topic: String) -> Place? {
        guard topic.hasPrefix("\(self.root)/") else { return nil }
        let levels = topic.dropFirst(self.root.count + 1).split(separator: "/", omittingEmptySubsequences: false)
        guard (2...3).contains(levels.count), levels.allSatisfy({ !$0.isEmpty }) else { return nil }
        return Place(
            user: String(levels[0]), device: String(levels[1]), part: levels.count == 3 ? String(levels[2]) : nil)
    }
}
