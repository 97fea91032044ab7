/// A subscription's filter, and what it matches (MQTT 5, section 4.7; shared ones, section 4.8).
struct TopicPattern: Hashable {
    /// As it was written.
    let text: String
    /// The name of the shared subscription; `nil` where it is none.
    let group: Substring?
    private let levels: [Substring]

    /// Reads a filter; `nil` when MQTT does not allow it.
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

    /// Whether a message can be published there.
    static func isTopic(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 65_535 && !text.contains { "+#\0".contains($0) }
    }

    func matches(_ topic: String) -> Bool {
        // The broker's own topics are not matched by a wildcard in the first level.
        if topic.hasPrefix("$"), self.levels[0] == "+" || self.levels[0] == "#" { return false }
        let topic = topic.split(separator: "/", omittingEmptySubsequences: false)
        for (index, level) in self.levels.enumerated() {
            if level == "#" { return true }
            guard index < topic.count, level == "+" || level == topic[index] else { return false }
        }
        return topic.count == self.levels.count
    }
}
