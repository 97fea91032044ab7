/// A topic filter of a subscription (MQTT 5, section 4.7; shared subscriptions, section 4.8).
struct TopicPattern: Hashable {
    /// The text of the topic filter, as the client gave it.
    let text: String
    /// The name of the group of a shared subscription (`$share/NAME/…`); `nil` for an ordinary subscription.
    let group: Substring?
    private let levels: [Substring]

    /// Parses a filter; returns `nil` when MQTT does not permit it.
    init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= 65_535, !text.utf8.contains(0) else { return nil }
        var levels = text.split(separator: "/", omittingEmptySubsequences: false)
        self.text = text
        if levels[0] == "$share" {
            guard levels.count >= 3, !levels[1].isEmpty, !levels[1].contains(where: { "+#".contains($0) }) else {
                return nil
            }
            self.group = levels[1]
            levels.removeFirst(2)
            guard levels != [""] else { return nil }
        } else {
            self.group = nil
        }
        for (index, level) in levels.enumerated() {
            if level.contains("#"), level != "#" || index < levels.count - 1 { return nil }
            if level.contains("+"), level != "+" { return nil }
        }
        self.levels = levels
    }

    /// Returns `true` when MQTT permits publishing to the topic: it has 1 to 65,535 bytes, no wildcard and no NUL
    /// character.
    static func isTopic(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 65_535 && !text.contains { "+#\0".contains($0) }
    }

    func matches(_ topic: String) -> Bool {
        // A wildcard in the first level does not match the broker's own topics, which begin with `$`.
        if topic.hasPrefix("$"), self.levels[0] == "+" || self.levels[0] == "#" { return false }
        let topic = topic.split(separator: "/", omittingEmptySubsequences: false)
        for (index, level) in self.levels.enumerated() {
            if level == "#" { return true }
            guard index < topic.count, level == "+" || level == topic[index] else { return false }
        }
        return topic.count == self.levels.count
    }
}
