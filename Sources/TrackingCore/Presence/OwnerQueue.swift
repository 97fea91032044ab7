/// The publishers that are present on one trackable. One of them is the owner, which is entitled to publish the
/// trackable: the one with the greatest ``PublisherClaim``.
///
/// Finding the owner takes constant time. Adding and removing a publisher take O(log n) on average, so that many
/// foreign publishers cannot slow down the program. For that reason the heap may still contain some publishers that
/// were removed.
struct OwnerQueue: Sendable {
    private struct Name: Hashable, Sendable {
        let client: ClientID
        let session: SessionID
    }

    private struct Entry: Comparable, Sendable {
        let member: Member
        /// The running number of the call of ``set(_:)`` that added this entry to the heap. The entry counts only if
        /// that was the last such call for its publisher, and the publisher was not removed since.
        let order: UInt64

        static func == (left: Self, right: Self) -> Bool { left.order == right.order }
        /// Returns `true` when the left publisher has the greater claim. The heap returns its least entry first, so
        /// this order makes it return the publisher with the greatest claim.
        static func < (left: Self, right: Self) -> Bool {
            left.member.presence.claim > right.member.presence.claim
        }
    }

    private var living = SmallDictionary<Name, UInt64>()
    private var heap = MinHeap<Entry>()
    private var settings: UInt64 = 0

    /// The owner: the present publisher with the greatest claim to the trackable; `nil` while no publisher is present.
    var owner: Member? { self.heap.min?.member }

    /// `true` while no publisher is present on the trackable.
    var isEmpty: Bool { self.living.isEmpty }

    /// The number of entries in the heap, including those of publishers that were removed or replaced. Tests use it to
    /// check the heap's maximum size.
    var heapCount: Int { self.heap.count }

    /// Adds a publisher to those that are present on the trackable. If it is present already, its presence message
    /// (with its claim) is replaced.
    mutating func set(_ member: Member) {
        self.settings += 1
        self.living[Self.name(member)] = self.settings
        self.heap.push(Entry(member: member, order: self.settings))
        self.dropLeftovers()
    }

    /// Removes a publisher from those that are present on the trackable. Has no effect when it is not among them.
    mutating func remove(_ member: Member) {
        self.living[Self.name(member)] = nil
        self.dropLeftovers()
    }

    private static func name(_ member: Member) -> Name {
        Name(client: member.client, session: member.presence.session)
    }

    private func isLiving(_ entry: Entry) -> Bool { self.living[Self.name(entry.member)] == entry.order }

    private mutating func dropLeftovers() {
        if self.heap.count > 2 * self.living.count + 16 {
            var kept: [Entry] = []
            while let entry = self.heap.popMin() { if self.isLiving(entry) { kept.append(entry) } }
            self.heap = MinHeap(kept)
        }
        while let entry = self.heap.min, !self.isLiving(entry) { _ = self.heap.popMin() }
    }
}
