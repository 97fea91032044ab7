import TrackingCore
import TrackingRules

/// The friends in the answer to an OwnTracks phone: the positions of other trackables that the app shows on its map.
enum OwnTracksFriends {
    /// The largest number of friends in one answer. Those with the newest positions are chosen.
    static let maximum = 100
    /// The largest number of bytes of the friends in one answer.
    static let maximumBytes = 65_536

    /// A trackable and its last position, for the answer to an OwnTracks phone.
    struct Friend: Hashable, Sendable {
        let id: TrackableID
        let location: Location
    }

    /// Returns the trackables with a position that a caller may read, except the phone's own trackable: at most
    /// ``maximum``, those with the newest positions first.
    static func newest(
        of positions: [TrackableID: Location], for caller: Caller, beside own: TrackableID
    ) -> [Friend] {
        let friends = positions.filter { id, location in
            id != own && caller.reads.contains(id) && caller.span?.contains(location.time) ?? true
        }
        return friends.map { Friend(id: $0.key, location: $0.value) }
            .sorted { ($1.location.time, $0.id) < ($0.location.time, $1.id) }
            .prefix(self.maximum).map { $0 }
    }

    /// Returns the OwnTracks messages of friends in the given order, up to ``maximumBytes``: a `card` for a friend with
    /// a name, and a `location`. The app matches the two by `topic`.
    static func messages(_ friends: [Friend], labels: [TrackableID: TrackableLabel]) -> [JSONValue] {
        var messages: [JSONValue] = []
        var bytes = 0
        for friend in friends {
            let own = Self.messages(friend, name: labels[friend.id]?.name)
            bytes += own.reduce(0) { $0 + $1.json.count + 1 }
            guard bytes <= self.maximumBytes else { break }
            messages += own
        }
        return messages
    }

    private static func messages(_ friend: Friend, name: String?) -> [JSONValue] {
        var location = friend.location.ownTracksMessage(of: friend.id, by: "gateway").object ?? [:]
        let topic = JSONValue.text("owntracks/godwit/\(friend.id.topicLevel)")
        location["_by"] = nil
        location["topic"] = topic
        guard let name else { return [.object(location)] }
        var card: [String: JSONValue] = ["_type": .text("card"), "topic": topic, "name": .text(name)]
        card["tid"] = location["tid"]
        return [.object(card), .object(location)]
    }
}
