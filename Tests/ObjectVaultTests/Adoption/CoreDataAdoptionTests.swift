// Files of Core Data and SwiftData, built from their documented tables: entities, one with a child, to-ones
// and a many-to-many.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct CoreDataAdoptions {
  static let file = """
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
    CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
    CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISPINNED INTEGER, ZAUTHOR INTEGER,
      ZOWNER INTEGER, ZCREATEDAT TIMESTAMP, ZPRICE DECIMAL, ZTITLE VARCHAR, ZIDENTIFIER BLOB);
    CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, ZSALARY FLOAT, ZBOSS INTEGER);
    CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZWORD VARCHAR);
    CREATE TABLE Z_1TAGS (Z_1NOTES INTEGER, Z_4TAGS INTEGER, Z_FOK_4TAGS INTEGER, PRIMARY KEY (Z_1NOTES, Z_4TAGS));
    CREATE INDEX ZNOTE_ZAUTHOR_INDEX ON ZNOTE (ZAUTHOR);
    CREATE INDEX ZNOTE_ZOWNER_INDEX ON ZNOTE (ZOWNER);
    CREATE INDEX ZPERSON_ZBOSS_INDEX ON ZPERSON (ZBOSS);
    CREATE INDEX Z_Note_byCreatedAt ON ZNOTE (ZCREATEDAT);
    CREATE UNIQUE INDEX Z_Tag_UNIQUE_word ON ZTAG (ZWORD);
    INSERT INTO Z_PRIMARYKEY VALUES (1, 'Note', 0, 12), (2, 'Person', 0, 5), (3, 'Manager', 2, 0), (4, 'Tag', 0, 2);
    INSERT INTO Z_METADATA VALUES (1, 'A1B2', x'00');
    INSERT INTO ZPERSON VALUES (1, 2, 1, 'Ann', 1.5, 5), (5, 3, 4, 'Bo', NULL, NULL);
    INSERT INTO ZTAG VALUES (1, 4, 1, 'red'), (2, 4, 1, 'blue');
    INSERT INTO ZNOTE VALUES (3, 1, 2, 1, 5, 1, 736257600.25, 1.5, 'first', x'0011'), (9, 1, 1, 0, NULL, NULL, 0, 2, NULL, NULL);
    INSERT INTO Z_1TAGS VALUES (3, 1, 2048), (3, 2, 1024), (9, 2, 2048);
    """

  @Test func `entities, inheritance, to-ones and many-to-manys of Core Data are imported`() async throws {
    let lab = try AdoptionLab(Self.file)
    let targets = ["note.author": "Person", "Note.owner": "person"]
    let adoption = try await lab.adopt(relationships: targets)
    #expect(
      adoption.origin == .coreData && adoption.losses.isEmpty && adoption.obstacles.isEmpty, "\(adoption)")
    #expect(
      adoption.step.canonicalText == """
        create entity Note {
            attribute createdat date optional indexed
            attribute identifier data optional
            attribute ispinned int optional
            attribute price double optional
            attribute title string optional
            relationship author -> Person inverse Person.notesByAuthor
            relationship owner -> Person inverse Person.notesByOwner
            relationship tags -> Tag many ordered inverse Tag.notes
        }
        create entity Person {
            attribute name string optional
            attribute salary double optional
            relationship boss -> Person inverse Person.persons
            relationship notesByAuthor -> Note many inverse Note.author
            relationship notesByOwner -> Note many inverse Note.owner
            relationship persons -> Person many inverse Person.boss
        }
        create entity Tag {
            attribute word string optional unique
            relationship notes -> Note many inverse Note.tags
        }
        create entity Manager : Person {
        }
        """)
    #expect(
      try lab.rows("SELECT id, createdat, ispinned, price, title, identifier, author_id, owner_id FROM Note")
        == [
          [3, .real(736_257_600.25), 1, .real(1.5), "first", .blob(Data([0, 17])), 5, 1],
          [9, .real(0), 0, .real(2), .null, .null, .null, .null],
        ])
    #expect(
      try lab.rows("SELECT id, _entity, name, salary, boss_id FROM Person") == [
        [1, "Person", "Ann", .real(1.5), 5], [5, "Manager", "Bo", .null, .null],
      ])
    #expect(
      try lab.rows("SELECT Note_id, Tag_id FROM Note_tags ORDER BY 1, Note_tags_position") == [
        [3, 2], [3, 1], [9, 2],
      ])
    #expect(
      try lab.rows("SELECT entity, last FROM vault_ids ORDER BY entity") == [
        ["Note", 12], ["Person", 5], ["Tag", 2],
      ])
    for word in [
      "Z_METADATA", "Person declares", "is ordered", "names only in capitals",
      "Person.boss is imported as a to-one",
    ] {
      #expect(adoption.notes.contains { $0.contains(word) }, "\(word): \(adoption.notes)")
    }
  }

  @Test func `a to-one with an unknown target is reported with the argument that names the target`()
    async throws
  {
    let lab = try AdoptionLab(Self.file)
    let adoption = try await lab.plan()
    // The id 1 exists in Person and in Tag, the id 5 only in Person.
    #expect(
      adoption.notes.contains {
        $0.contains("relationships: [\"Note.owner\": \"ENTITY\"]") && $0.contains("may be a to-one")
      })
    #expect(adoption.schema.entity(named: "Note")?.attribute(named: "owner")?.type == .int)
    #expect(adoption.schema.entity(named: "Note")?.relationship(named: "author")?.destination == "Person")
    await #expect { try await lab.plan(["Note.owner": "Persn"]) } throws: {
      ($0 as? StoreError) == .noEntity(name: "Persn", similar: ["Person"])
    }
  }

  @Test func `a table that Core Data did not make is listed as a loss`() async throws {
    let lab = try AdoptionLab(Self.file + "CREATE TABLE other (a); INSERT INTO other VALUES (1);")
    #expect(try await lab.plan().losses.map(\.name) == ["other"])
  }
}
