extension JSONWriter {
    /// Writes a member with a number. Writes nothing when `value` is `nil` or outside the range of `rule`.
    mutating func member(_ name: StaticString, _ value: Double?, _ rule: NumberRule) {
        guard let value, rule.allows(value) else { return }
        self.name(name)
        self.number(value)
    }

    /// Writes a member with a string. Writes nothing when `value` is `nil`.
    mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.text(value)
    }

    /// Writes a member with `true` or `false`. Writes nothing when `value` is `nil`.
    mutating func member(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        self.raw(value ? "true" : "false")
    }

    /// Writes a member with an integer. Writes nothing when `value` is `nil`, or its magnitude exceeds 2^53 - 1.
    mutating func member(_ name: StaticString, _ value: (some BinaryInteger)?) {
        guard let value, value.magnitude <= WireLimits.maximumInteger else { return }
        self.name(name)
        if value < 0 { self.raw(UInt8(ascii: "-")) }
        self.digits(UInt64(value.magnitude), decimals: 0)
    }
}
