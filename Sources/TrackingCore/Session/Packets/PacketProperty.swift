/// A property of MQTT 5 that a broker may send to this client. Topic aliases are not included, because the client
/// permits none.
enum PacketProperty: UInt8 {
    case payloadFormat = 0x01
    case messageExpiry = 0x02
    case contentType = 0x03
    case responseTopic = 0x08
    case correlationData = 0x09
    case subscriptionIdentifier = 0x0B
    case sessionExpiry = 0x11
    case assignedClient = 0x12
    case serverKeepAlive = 0x13
    case authenticationMethod = 0x15
    case authenticationData = 0x16
    case responseInformation = 0x1A
    case serverReference = 0x1C
    case reasonString = 0x1F
    case receiveMaximum = 0x21
    case topicAliasMaximum = 0x22
    case maximumQuality = 0x24
    case retainAvailable = 0x25
    case user = 0x26
    case maximumPacketSize = 0x27
    case wildcardAvailable = 0x28
    case identifierAvailable = 0x29
    case sharedAvailable = 0x2A

    /// The types of packets in which this MQTT 5 property may occur.
    var types: Set<PacketType> {
        switch self {
        case .payloadFormat, .messageExpiry, .contentType, .responseTopic, .correlationData, .subscriptionIdentifier:
            Self.publish
        case .user: Self.all
        case .reasonString: Self.allButPublish
        case .serverReference: Self.ends
        default: Self.connack
        }
    }

    /// A Boolean value that indicates whether one packet may have the property several times.
    var mayRepeat: Bool { self == .user || self == .subscriptionIdentifier }

    /// Reads the value of this MQTT 5 property from the packet, after the property's identifier was read, and checks
    /// the value.
    func read(_ reader: inout PacketReader) throws(PacketReader.Stop) {
        switch self {
        case .payloadFormat, .maximumQuality, .retainAvailable, .wildcardAvailable, .identifierAvailable,
            .sharedAvailable:
            guard try reader.byte("a property") <= 1 else {
                throw .malformed("property \(self.rawValue) must be 0 or 1")
            }
        case .serverKeepAlive, .topicAliasMaximum:
            _ = try reader.twoBytes("a property")
        case .receiveMaximum:
            guard try reader.twoBytes("a property") > 0 else { throw .malformed("the receive maximum must not be 0") }
        case .messageExpiry, .sessionExpiry:
            _ = try reader.fourBytes("a property")
        case .maximumPacketSize:
            guard try reader.fourBytes("a property") > 0 else {
                throw .malformed("the maximum packet size must not be 0")
            }
        case .subscriptionIdentifier:
            _ = try reader.variableInteger("a property")
        case .contentType, .responseTopic, .assignedClient, .authenticationMethod, .responseInformation,
            .serverReference, .reasonString:
            try reader.text("a property")
        case .correlationData, .authenticationData:
            try reader.binary("a property")
        case .user:
            try reader.text("a property")
            try reader.text("a property")
        }
    }

    private static let publish: Set<PacketType> = [.publish]
    private static let connack: Set<PacketType> = [.connack]
    private static let ends: Set<PacketType> = [.connack, .disconnect]
    private static let allButPublish: Set<PacketType> = [.connack, .puback, .suback, .unsuback, .disconnect]
    private static let all = allButPublish.union(publish)
}
