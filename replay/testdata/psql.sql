-- What psql itself does with a script.

select 1 as one, 'abc' as t;
/* block
comment */ select nocol
  from t;

select -- inner

  /* mid */ nocol2,

  3;
\echo hello 'a b' "q" world
\set x 5
select :x as v, :'x' as q, 'lit:x', 1::int; select 2
;
\set greeting 'it''s' \\ select :'greeting' as g, :"greeting" from t;
\echo :x :'greeting' :nope
select 'multi
line' as m, 'tab	x', E'cr\rx', null, true, 'é€日本';
select;
select 'semi;colon', $$dollar;quote$$, $a$x$$y$a$, "no;col" from t;
begin \; select 3 \; commit;
rollback;
select 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', nocol, 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb';
select nocol, 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb';
select 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', nocol;
select '日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本', nocol;
select 1/0;
\echo -n no newline
\echo
select (1;
);
select 1 as "Ümlaut", 22 as b,
   'x' as "longer header";
select 'a' /* ; */ || 'b' -- ; comment
  || 'c';
select 1 as "two
lines", 2 as b;
select E'it\'s;' as e;
;
;;
select 7 \echo in between
;
select 5
