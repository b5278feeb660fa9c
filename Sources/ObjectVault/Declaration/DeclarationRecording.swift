// What a property wrapper records when the declarations of its class are recorded.

internal import CipherSQLite
private import Foundation

@usableFromInline func recordAttribute<Value: AttributeValue>(
  _ slot: Int32, _ type: Value.Type, _ initial: (() -> Value)?, _ options: [AttributeOption?]
) {
  DeclarationRecorder.add(
    slot,
    .attribute(
      type: Value.attributeType, isOptional: Value.isOptionalAttribute,
      initialValue: initial.map { make in { try make().stored() } },
      options: options.compactMap { $0 }),
    ValueReader(
      isNarrow: !wholeTypes.contains(ObjectIdentifier(type)), reads: { Value(stored: $0) != nil },
      samples: { Value.samples.compactMap { try? $0.stored() }.filter { !$0.isNull } }))
}

@usableFromInline func recordTarget(
  _ slot: Int32, _ target: ManagedObject.Type, _ options: [RelationshipOption?], _ inverse: AnyKeyPath?,
  _ rule: DeleteRule
) {
  record(slot, .one, target, options, inverse, rule)
}

@usableFromInline func recordMembers<Members: RelatedMembers>(
  _ slot: Int32, _ members: Members.Type, _ options: [RelationshipOption?], _ inverse: AnyKeyPath?,
  _ rule: DeleteRule
) {
  record(slot, Members.isOrdered ? .ordered : .many, Members.Member.self, options, inverse, rule)
}

private func record(
  _ slot: Int32, _ number: PropertyDeclaration.Number, _ target: ManagedObject.Type,
  _ options: [RelationshipOption?], _ inverse: AnyKeyPath?, _ rule: DeleteRule
) {
  DeclarationRecorder.add(
    slot,
    .relationship(
      target: target, number: number, options: options.compactMap { $0 }, inverse: inverse, deleteRule: rule))
}

/// The Swift types that can represent all values of their attribute type.
private let wholeTypes: Set<ObjectIdentifier> = {
  func both<Value>(_ type: Value.Type) -> [ObjectIdentifier] {
    [ObjectIdentifier(type), ObjectIdentifier(Value?.self)]
  }
  return Set(
    both(Bool.self) + both(Int.self) + both(Int8.self) + both(Int16.self) + both(Int32.self)
      + both(Int64.self)
      + both(UInt8.self) + both(UInt16.self) + both(UInt32.self) + both(Float.self) + both(Double.self)
      + both(Decimal.self) + both(String.self) + both(Data.self) + both(Date.self) + both(UUID.self)
      + both(URL.self))
}()

extension Attribute: SlotOwner {
  var slotNumber: Int32 { Int32(slot) }
}
extension ToOne: SlotOwner {
  var slotNumber: Int32 { Int32(slot) }
}
extension ToMany: SlotOwner {
  var slotNumber: Int32 { Int32(slot) }
}
