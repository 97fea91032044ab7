/// An incremental XML parser with bounded memory for the part of XML that GPX needs: elements, attributes and short
/// texts.
///
/// Comments, processing instructions, the document type and CDATA sections above the limit are skipped. Only character
/// references and the five predefined entities are resolved; other entities remain unchanged, so nothing is fetched or
/// expanded. Any encoding that extends ASCII is accepted, because the relevant parts of GPX are ASCII.
struct XMLScanner: Sendable {
    /// A parsed item. Names have no namespace prefix.
    enum Event: Hashable, Sendable {
        case start(String, attributes: [String: String])
        case end(String)
        case text(String)
    }

    /// The reason why the document cannot be parsed further.
    struct Malformed: Error, Hashable, Sendable {
        var line: Int
        var reason: String
    }

    /// The maximum number of bytes of one tag or one text.
    static let limit = 65_536
    /// The maximum nesting of elements.
    static let maximumDepth = 64

    private var buffer: [UInt8] = []
    private var position = 0
    private var line = 1
    private var open: [String] = []
    private var hasRoot = false
    /// The bytes that end the part that is being skipped.
    private var skippingTo: [UInt8]?
    /// The document type that is being skipped.
    private var doctype: XMLDoctype?
    /// The name of an element written as one tag (`<name/>`). Its begin was returned; its end is the next event. `nil`
    /// when there is none.
    private var pendingEnd: String?

    /// `true` after the root element was closed.
    var isComplete: Bool { self.hasRoot && self.open.isEmpty && self.pendingEnd == nil }

    /// Appends bytes. Call ``next()`` to parse them.
    mutating func append(_ bytes: ArraySlice<UInt8>) {
        self.buffer.removeFirst(self.position)
        self.position = 0
        self.buffer.append(contentsOf: bytes)
    }

    /// Returns the next event; `nil` when more bytes are needed.
    mutating func next() throws(Malformed) -> Event? {
        if let name = self.pendingEnd {
            self.pendingEnd = nil
            return .end(name)
        }
        while true {
            if self.skippingTo != nil, !self.skip() { return nil }
            if self.doctype != nil, !self.skipDoctype() { return nil }
            guard self.position < self.buffer.count else { return nil }
            if self.buffer[self.position] == UInt8(ascii: "<") {
                guard let step = try self.markup() else { return nil }
                if let event = step.event { return event }
            } else {
                guard let event = try self.text() else { return nil }
                if !self.open.isEmpty { return event }
            }
        }
    }

    /// Skips the current part. Returns `false` when more bytes are needed.
    private mutating func skip() -> Bool {
        guard let end = self.skippingTo else { return true }
        guard let found = self.find(end, from: self.position) else {
            // The last bytes may be the begin of the end marker.
            self.advance(to: max(self.position, self.buffer.count - end.count + 1))
            return false
        }
        self.advance(to: found + end.count)
        self.skippingTo = nil
        return true
    }

    /// Skips the document type. Returns `false` when more bytes are needed.
    private mutating func skipDoctype() -> Bool {
        let end = self.buffer[self.position...].firstIndex { self.doctype?.ends(with: $0) ?? true }
        self.advance(to: end.map { $0 + 1 } ?? self.buffer.count)
        if end != nil { self.doctype = nil }
        return end != nil
    }

    /// Parses one item of markup and returns its event, if it has one; returns `nil` when more bytes are needed.
    private mutating func markup() throws(Malformed) -> (event: Event?, Void)? {
        if let step = self.characterData() { return step.event.map { ($0, ()) } }
        if let isLong = self.startsSkipped() {
            if !isLong { return nil }
            return (nil, ())
        }
        guard let end = try self.endOfTag() else { return nil }
        let tag = self.buffer[(self.position + 1)..<end]
        let event =
            tag.first == UInt8(ascii: "/") ? try self.close(tag.dropFirst()) : try self.open(tag)
        self.advance(to: end + 1)
        return (event, ())
    }

    /// Parses a CDATA section of an element as text. The event is `nil` when more bytes are needed. Returns `nil` when
    /// there is no CDATA section within the limit.
    private mutating func characterData() -> (event: Event?, Void)? {
        let start = Array("<![CDATA[".utf8)
        guard !self.open.isEmpty, self.buffer[self.position...].starts(with: start) else { return nil }
        let first = self.position + start.count
        guard let end = self.find(Array("]]>".utf8), from: first) else {
            return self.buffer.count - first <= Self.limit ? (nil, ()) : nil
        }
        guard end - first <= Self.limit else { return nil }
        let text = String(decoding: self.buffer[first..<end], as: UTF8.self)
        self.advance(to: end + 3)
        return (.text(text), ())
    }

    /// Begins to skip a comment, an instruction, a CDATA section above the limit or a document type.
    ///
    /// - Returns: `true` when skipping began; `nil` when the markup is an ordinary tag; `false` when more bytes are
    ///   needed to decide.
    private mutating func startsSkipped() -> Bool? {
        let starts: [(start: String, end: String)] = [
            ("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!DOCTYPE", ""),
        ]
        let rest = self.buffer[self.position...]
        if let second = rest.dropFirst().first, second != UInt8(ascii: "!"), second != UInt8(ascii: "?") { return nil }
        for (start, end) in starts {
            if rest.starts(with: start.utf8) {
                self.advance(to: self.position + start.utf8.count)
                if end.isEmpty { self.doctype = XMLDoctype() } else { self.skippingTo = Array(end.utf8) }
                return true
            }
            if start.utf8.starts(with: rest) { return false }
        }
        return nil
    }

    /// Returns the index of the first `>` outside of quotes, which ends the tag; `nil` when more bytes are needed.
    private func endOfTag() throws(Malformed) -> Int? {
        var quote: UInt8?
        for index in (self.position + 1)..<max(self.position + 1, self.buffer.count) {
            let byte = self.buffer[index]
            switch (byte, quote) {
            case (UInt8(ascii: ">"), nil): return index
            case (UInt8(ascii: "\""), nil), (UInt8(ascii: "'"), nil): quote = byte
            case (_, .some(let open)) where open == byte: quote = nil
            default: break
            }
            if index - self.position > Self.limit { throw self.malformed("a tag is longer than \(Self.limit) bytes") }
        }
        return nil
    }

    private mutating func open(_ tag: ArraySlice<UInt8>) throws(Malformed) -> Event {
        let isEmpty = tag.last == UInt8(ascii: "/")
        var reader = XMLTagReader(isEmpty ? tag.dropLast() : tag)
        guard let name = reader.name(), let attributes = reader.attributes() else {
            throw self.malformed("a broken tag")
        }
        guard self.hasRoot == false || !self.open.isEmpty else { throw self.malformed("something after the end") }
        self.hasRoot = true
        if isEmpty {
            self.pendingEnd = name
        } else {
            guard self.open.count < Self.maximumDepth else { throw self.malformed("elements nested too deep") }
            self.open.append(name)
        }
        return .start(name, attributes: attributes)
    }

    private mutating func close(_ tag: ArraySlice<UInt8>) throws(Malformed) -> Event {
        var reader = XMLTagReader(tag)
        guard let name = reader.name(), name == self.open.popLast() else {
            throw self.malformed("an end tag that does not fit")
        }
        return .end(name)
    }

    /// Returns the complete text up to the next markup, so that no reference is divided. Only a text above the limit is
    /// returned in pieces.
    private mutating func text() throws(Malformed) -> Event? {
        let next = self.buffer[self.position...].firstIndex(of: UInt8(ascii: "<"))
        if next == nil, !self.open.isEmpty, self.buffer.count - self.position <= Self.limit { return nil }
        let text = self.buffer[self.position..<(next ?? self.buffer.count)]
        if self.open.isEmpty,
            let wrong = text.firstIndex(where: { !XMLTagReader.isSpace($0) && !Self.byteOrderMark.contains($0) })
        {
            self.advance(to: wrong)
            throw self.malformed(
                self.buffer[wrong] == 0 || self.buffer[wrong] > 0xF0
                    ? "the encoding is not UTF-8" : "text outside of the elements")
        }
        self.advance(to: text.endIndex)
        return .text(XMLTagReader.unescaped(text))
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private func find(_ pattern: [UInt8], from start: Int) -> Int? {
        guard self.buffer.count - start >= pattern.count else { return nil }
        return (start...(self.buffer.count - pattern.count)).first { self.buffer[$0...].starts(with: pattern) }
    }

    private mutating func advance(to index: Int) {
        for byte in self.buffer[self.position..<index] where byte == UInt8(ascii: "\n") { self.line += 1 }
        self.position = index
    }

    private func malformed(_ reason: String) -> Malformed { Malformed(line: self.line, reason: reason) }
}
