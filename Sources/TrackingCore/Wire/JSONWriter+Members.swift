extension JSONWriter {
    /// Writes a member; writes nothing when the value is unknown or `rule` does not allow it.
    mutating func member(_ name: StaticString, _ value: Double?, _ rule: NumberRule) {
        guard let value, rule.allows(value) else { return }
        self.name(name)
        self.number(value)
    }

    /// Writes a member; writes nothing when the value is unknown.
    mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.text(value)
    }

    /// Writes a member; writes nothing when the value is unknown.
    mutating func member(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        self.raw(value ? "true" : "false")
    }

    /// Writes a member; writes nothing when the value is unknown or beyond ±(2^53 - 1).
    mutating func member(_ name: StaticString, _ value: (some BinaryInteger)?) {
        guard let value, value.magnitude <= WireLimits.maximumInteger else { return }
        self.name(name)
        if value < 0 { self.raw(UInt8(ascii: "-")) }
        self.digits(UInt64(value.magnitude), decimals: 0)
    }
}
