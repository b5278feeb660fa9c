// What a property wrapper records when the declarations of its class are recorded.

internal import CipherSQLite
private import Foundation

@usableFromInline func recordAttribute<Value: AttributeValue>(
  _ slot: Int32, type: Value.Type, initial: (() -> Value)?, options: [AttributeOption?]
) {
  DeclarationRecorder.add(
    slot,
    .attribute(
      type: Value.attributeType, isOptional: Value.isOptionalAttribute,
      initialValue: initial.map { make in { try make().stored() } },
      options: options.compactMap { $0 }),
    reader: ValueReader(
      isNarrow: !unrestrictedTypes.contains(ObjectIdentifier(type)), reads: { Value(stored: $0) != nil },
      samples: { Value.samples.compactMap { try? $0.stored() }.filter { !$0.isNull } }))
}

@usableFromInline func recordTarget(
  _ slot: Int32, target: ManagedObject.Type, options: [RelationshipOption?], inverse: AnyKeyPath?,
  rule: DeleteRule
) {
  record(slot, number: .one, target: target, options: options, inverse: inverse, rule: rule)
}

@usableFromInline func recordMembers<Members: RelatedMembers>(
  _ slot: Int32, members: Members.Type, options: [RelationshipOption?], inverse: AnyKeyPath?,
  rule: DeleteRule
) {
  record(
    slot, number: Members.isOrdered ? .ordered : .many, target: Members.Member.self, options: options,
    inverse: inverse, rule: rule)
}

private func record(
  _ slot: Int32, number: PropertyDeclaration.Number, target: ManagedObject.Type,
  options: [RelationshipOption?], inverse: AnyKeyPath?, rule: DeleteRule
) {
  DeclarationRecorder.add(
    slot,
    .relationship(
      target: target, number: number, options: options.compactMap { $0 }, inverse: inverse, deleteRule: rule))
}

/// The Swift types that can represent all values of their attribute type.
private let unrestrictedTypes: Set<ObjectIdentifier> = {
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
