// Core Data entities that share a table and use the same names: the rows show which entity a column belongs
// to. Where no row does, its type shows it.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct CoreDataSiblings {
  private static let tables = """
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
    CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
    CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCODE INTEGER, ZMAKER INTEGER,
      ZMAKER1 INTEGER, ZCODE1 VARCHAR, ZLINE21 VARCHAR, ZPART INTEGER);
    CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
    CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZWORD VARCHAR);
    CREATE TABLE Z_2TAGS (Z_2BOOKS INTEGER, Z_5TAGS INTEGER);
    CREATE TABLE Z_3TAGS (Z_3FILMS INTEGER, Z_5TAGS1 INTEGER);
    CREATE TABLE Z_4FRIENDS (Z_4FRIENDS INTEGER, REFLEXIVE INTEGER);
    INSERT INTO Z_PRIMARYKEY VALUES (1, 'Item', 0, 9), (2, 'Book', 1, 0), (3, 'Film', 1, 0), (4, 'Person', 0, 9), (5, 'Tag', 0, 9);
    INSERT INTO ZPERSON VALUES (1, 4, 1, 'Ann'), (2, 4, 1, 'Bo');
    INSERT INTO ZITEM (Z_PK, Z_ENT, ZMAKER1, ZPART) VALUES (1, 2, 2, 3), (2, 2, NULL, NULL);
    INSERT INTO ZITEM (Z_PK, Z_ENT, ZMAKER, ZPART) VALUES (3, 3, 1, NULL), (4, 1, NULL, 4);
    INSERT INTO ZTAG VALUES (1, 5, 1, 'a'), (2, 5, 1, 'b');
    INSERT INTO Z_2TAGS VALUES (1, 2);
    INSERT INTO Z_3TAGS VALUES (3, 1), (3, 2);
    INSERT INTO Z_4FRIENDS VALUES (1, 2);

    """

  private static var archive: CoreDataArchive {
    var archive = CoreDataArchive()
    archive.add("Book", attribute: "code", type: 700)
    archive.add("Film", attribute: "code", type: 300)
    archive.add("Book", attribute: "line2", type: 700)
    archive.add("Item", "part", to: "Item", inverse: "wholes")
    archive.add("Item", "wholes", to: "Item", inverse: "part", isToMany: true)
    archive.add("Person", attribute: "name", type: 700)
    archive.add("Tag", attribute: "word", type: 700)
    for (entity, back) in [("Book", "books"), ("Film", "films")] {
      archive.add(entity, "maker", to: "Person", inverse: back)
      archive.add("Person", back, to: entity, inverse: "maker", isToMany: true)
      archive.add(entity, "tags", to: "Tag", inverse: back, isToMany: true)
      archive.add("Tag", back, to: entity, inverse: "tags", isToMany: true)
    }
    archive.add("Person", "friends", to: "Person", inverse: "friends", isToMany: true)
    return archive
  }

  @Test func `each sibling entity has its own column for a shared name, and its own links`() async throws {
    let lab = try AdoptionLab(Self.tables + CoreDataHierarchy.cached(Self.archive.packed))
    let adoption = try await lab.adopt()
    #expect(adoption.losses.isEmpty && adoption.obstacles.isEmpty, "\(adoption)")
    #expect(
      adoption.step.canonicalText == """
        create entity Item {
            relationship part -> Item inverse Item.wholes
            relationship wholes -> Item many inverse Item.part
        }
        create entity Person {
            attribute name string optional
            relationship books -> Book many inverse Book.maker1
            relationship films -> Film many inverse Film.maker
            relationship friends -> Person many inverse Person.friendsBack
            relationship friendsBack -> Person many inverse Person.friends
        }
        create entity Tag {
            attribute word string optional
            relationship books -> Book many inverse Book.tags
            relationship films -> Film many inverse Film.tags2
        }
        create entity Book : Item {
            attribute code1 string optional
            attribute line21 string optional
            relationship maker1 -> Person inverse Person.books
            relationship tags -> Tag many inverse Tag.books
        }
        create entity Film : Item {
            attribute code int optional
            relationship maker -> Person inverse Person.films
            relationship tags2 -> Tag many inverse Tag.films
        }
        """)
    #expect(
      try lab.rows("SELECT id, _entity, maker_id, maker1_id, part_id FROM Item ORDER BY 1") == [
        [1, "Book", .null, 2, 3], [2, "Book", .null, .null, .null], [3, "Film", 1, .null, .null],
        [4, "Item", .null, .null, 4],
      ])
    #expect(try lab.rows("SELECT Book_id, Tag_id FROM Book_tags") == [[1, 2]])
    #expect(try lab.rows("SELECT Film_id, Tag_id FROM Film_tags2 ORDER BY 2") == [[3, 1], [3, 2]])
    #expect(try lab.rows("SELECT count(*) FROM Person_friends") == [[1]])
    #expect(adoption.notes.contains { $0.contains("Book.maker1 is called maker in Core Data's model") })
  }

  @Test func `a table without Z_ENT and a cycle of parents are imported without a crash`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY);
      CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, ZNAME VARCHAR);
      CREATE TABLE ZA (Z_PK INTEGER PRIMARY KEY, ZNAME VARCHAR);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Item', 0, 9), (2, 'Book', 1, 0), (3, 'A', 4, 0), (4, 'B', 3, 0), (5, 'C', 77, 1);
      INSERT INTO ZITEM VALUES (1, 'a'); INSERT INTO ZA VALUES (1, 'a');
      """)
    let adoption = try await lab.adopt(allowing: ["ZA"])
    #expect(adoption.losses.map(\.name) == ["ZA"])
    #expect(try lab.rows("SELECT id, _entity, name FROM Item") == [[1, "Item", "a"]])
  }
}
