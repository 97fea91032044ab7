/// A value in the header or the body of a D-Bus message that was received. A variant is decoded as its content.
enum DBusValue: Hashable, Sendable {
    /// A Boolean (0 or 1), or a number without a sign.
    case unsigned(UInt64)
    case signed(Int64)
    case double(Double)
    /// A text, the path of an object, or a signature.
    case text(String)
    /// The elements of an array, or the members of a structure or of an entry of a dictionary.
    case members([DBusValue])

    /// The text of the value; `nil` for a value of another type.
    var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The number of the value; `nil` for a value of another type.
    var double: Double? { if case .double(let number) = self { number } else { nil } }

    /// The number of the value; `nil` for a value of another type, and for a negative number.
    var unsigned: UInt64? { if case .unsigned(let number) = self { number } else { nil } }

    /// The elements of an array, or the members of a structure; empty for a value of another type.
    var members: [DBusValue] { if case .members(let members) = self { members } else { [] } }

    /// Returns the value of an entry of a dictionary whose keys are texts; `nil` if there is no such entry.
    subscript(key: String) -> DBusValue? {
        for entry in self.members {
            let parts = entry.members
            if parts.count == 2, parts[0].text == key { return parts[1] }
        }
        return nil
    }
}

/// An argument of a call over D-Bus.
enum DBusArgument: Hashable, Sendable {
    case text(String)
    case textVariant(String)
    case numberVariant(UInt32)

    /// The type of the argument in the notation of D-Bus.
    var signature: String {
        switch self {
        case .text: "s"
        case .textVariant, .numberVariant: "v"
        }
    }
}
