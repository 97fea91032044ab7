/// The known names that are most similar to an unknown name, for the question "Did you mean …?".
///
/// A known name counts as similar if it differs from the unknown name by a few letters that were added, omitted,
/// changed or swapped with the next one, or if it begins with the unknown name (of at least two characters). Upper and
/// lower case do not matter.
public struct NearestNames: Hashable, Sendable {
    private struct Found: Hashable, Sendable {
        var name: String
        var distance: Int
    }

    /// The largest number of similar names that are suggested for an unknown name: 3.
    public static let maximumCount = 3
    /// The number of characters at the beginning of a name that are compared to find similar names: 128. Further
    /// characters are ignored.
    private static let maximumLength = 128

    private let wanted: [Character]
    private var found: [Found] = []

    /// Creates an empty list of similar names for an unknown name. ``consider(_:)`` adds known names to the list.
    public init(to name: String) { self.wanted = Array(name.lowercased().prefix(Self.maximumLength)) }

    /// Creates the list of those names among `names` that are most similar to the unknown name `name`.
    public init(to name: String, among names: some Sequence<String>) {
        self.init(to: name)
        for name in names { self.consider(name) }
    }

    /// The similar names, the most similar one first. Names of the same similarity are in alphabetical order.
    public var names: [String] { self.found.map(\.name) }

    /// The question for the user with the known names that are similar to the unknown name: `Did you mean van-7, van-8
    /// or van-9?` `nil` if no known name is similar.
    public var question: String? { self.question { $0 } }

    /// Returns the question "Did you mean …?" with the known names that are similar to the unknown name. Each name
    /// appears in the form that `text` returns for it. `nil` if no known name is similar.
    func question(_ text: (String) -> String) -> String? {
        let names = self.names.map(text)
        guard let last = names.last else { return nil }
        let rest = names.dropLast().joined(separator: ", ")
        return "Did you mean \(rest.isEmpty ? last : "\(rest) or \(last)")?"
    }

    /// Adds a known name to the similar names if it is similar to the unknown name. Only the three most similar names
    /// remain.
    public mutating func consider(_ name: String) {
        let other = Array(name.lowercased().prefix(Self.maximumLength))
        guard let distance = self.distance(to: other), !self.names.contains(name) else { return }
        self.found.append(Found(name: name, distance: distance))
        self.found.sort { ($0.distance, $0.name) < ($1.distance, $1.name) }
        self.found = Array(self.found.prefix(Self.maximumCount))
    }

    /// The largest number of differences with which a name counts as similar: 1 if the unknown name has at most 4
    /// characters, 2 if it has at most 8, otherwise 3.
    private var limit: Int { self.wanted.count <= 4 ? 1 : self.wanted.count <= 8 ? 2 : 3 }

    /// Returns the number of differences between the unknown name and a known name; `nil` for a known name that is not
    /// similar. A known name that only begins with the unknown name counts as similar, with one difference more than
    /// the greatest number for other names.
    private func distance(to other: [Character]) -> Int? {
        let isBeginning = self.wanted.count >= 2 && other.starts(with: self.wanted)
        guard abs(other.count - self.wanted.count) <= self.limit else { return isBeginning ? self.limit + 1 : nil }
        let distance = Self.editDistance(self.wanted, other)
        return distance <= self.limit && distance < self.wanted.count ? distance : isBeginning ? self.limit + 1 : nil
    }

    /// Returns the number of characters to add, omit, change or swap with the next one to convert `one` to `other`.
    private static func editDistance(_ one: [Character], _ other: [Character]) -> Int {
        var before: [Int] = []
        var last = Array(0...other.count)
        for row in one.indices {
            var next = [row + 1]
            for column in other.indices {
                let change = last[column] + (one[row] == other[column] ? 0 : 1)
                var least = min(change, last[column + 1] + 1, next[column] + 1)
                if row > 0, column > 0, one[row] == other[column - 1], one[row - 1] == other[column] {
                    least = min(least, before[column - 1] + 1)
                }
                next.append(least)
            }
            (before, last) = (last, next)
        }
        return last[other.count]
    }
}
