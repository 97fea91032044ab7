/// The known names that are most similar to a name that is not known, for the question "Did you mean …?".
///
/// A name counts as similar if a few letters were added, omitted, changed or swapped with the next one, or if it begins
/// with the unknown name. Upper and lower case do not matter.
public struct NearestNames: Hashable, Sendable {
    private struct Found: Hashable, Sendable {
        var name: String
        var distance: Int
    }

    /// The largest number of names that are suggested.
    public static let maximumCount = 3
    /// The largest number of characters of a name that is compared.
    private static let maximumLength = 128

    private let wanted: [Character]
    private var found: [Found] = []

    /// Creates the list for a name that is not known. The list is empty before ``consider(_:)`` is called.
    public init(to name: String) { self.wanted = Array(name.lowercased().prefix(Self.maximumLength)) }

    /// Creates the list of the names among `names` that are most similar to a name that is not known.
    public init(to name: String, among names: some Sequence<String>) {
        self.init(to: name)
        for name in names { self.consider(name) }
    }

    /// The similar names, the most similar one first, and names of the same similarity in their order.
    public var names: [String] { self.found.map(\.name) }

    /// The question for the similar names: `Did you mean van-7, van-8 or van-9?`; `nil` if there are none.
    public var question: String? {
        let names = self.names
        guard let last = names.last else { return nil }
        let rest = names.dropLast().joined(separator: ", ")
        return "Did you mean \(rest.isEmpty ? last : "\(rest) or \(last)")?"
    }

    /// Adds a known name to the list, if it is more similar than those of the list.
    public mutating func consider(_ name: String) {
        let other = Array(name.lowercased().prefix(Self.maximumLength))
        guard let distance = self.distance(to: other), !self.names.contains(name) else { return }
        self.found.append(Found(name: name, distance: distance))
        self.found.sort { ($0.distance, $0.name) < ($1.distance, $1.name) }
        self.found = Array(self.found.prefix(Self.maximumCount))
    }

    /// The largest number of differences of a similar name: 1 for a short name, 3 for a long one.
    private var limit: Int { self.wanted.count <= 4 ? 1 : self.wanted.count <= 8 ? 2 : 3 }

    /// Returns the number of differences of a similar name; `nil` for a name that is not similar.
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
